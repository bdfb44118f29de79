// A matrix product whose weights are stored in 16 bits and widened in registers: the sums are
// float32. A product of few rows is bound by reading its weights, of which there are half as many
// bytes.
#pragma once

#include <optional>
#include <vector>

#include "execute/cpu/kernels/product_finish.h"

namespace assay::cpu {

struct HalfProductShape {
  std::size_t rows = 0;     // of the source and of the result
  std::size_t depth = 0;    // columns of the source
  std::size_t columns = 0;  // of the result
  HalfFormat weights = HalfFormat::Bfloat16;
  std::optional<HalfFormat> source = {};  // nothing: floats
  std::optional<HalfFormat> result = {};  // of the addend too
};

class HalfProduct final : public OwnConvolution {
 public:
  HalfProduct(const HalfProductShape& shape, std::vector<ProductFinish> finish, int threads);

  std::size_t weight_floats() const override;
  std::size_t workspace_floats() const override;
  std::int64_t flops() const override;
  bool adds() const override { return finish_.adds(); }

  // From [columns, depth].
  void pack_weights(const float* weights, float* packed) const override;
  // From rows of 16-bit numbers in the format of the weights: [columns, depth], or [depth, columns]
  // if not transposed.
  void pack_halves(const std::uint16_t* weights, bool is_transposed, std::uint16_t* packed) const;
  void run(const ConvolutionOperands& operands) const override;

 private:
  std::size_t panels() const;
  void run_panel(const ConvolutionOperands& operands, const float* source, std::size_t panel) const;

  HalfProductShape shape_;
  FinishedRows finish_;
  int threads_ = 1;
  const SimdKernels& kernels_;
};

}  // namespace assay::cpu
