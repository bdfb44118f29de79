// A convolution, or a matrix product, as the product of the patches that its windows see (im2col)
// and panels of weights: channels last, a block of pixels at a time. Weights are floats or 16-bit
// numbers, and so are source and result. Single pixels of floats are read where they lie; other
// patches are copied as floats into a core's own cache. Sums are float32. With
// `compute_in_float16`, patches stay in float16 and short sums are float16 (fp16_product.h).
#pragma once

#include <optional>
#include <vector>

#include "execute/cpu/kernels/own_convolution.h"
#include "execute/cpu/kernels/product_finish.h"
#include "execute/cpu/simd/fp16/fp16_product.h"
#include "kernels/window_grid.h"

namespace assay::cpu {

struct PanelLayer {
  kernels::WindowGrid grid;  // one axis of single pixels for a matrix product
  std::size_t images = 1;
  std::size_t channels = 0;
  std::size_t outputs = 0;
  std::optional<HalfFormat> weights = {};  // nothing: floats
  std::optional<HalfFormat> source = {};
  std::optional<HalfFormat> result = {};  // of the addend too
  // What a thread's patches may take, so that they stay in its core's own cache.
  std::size_t patch_floats = std::size_t{128} << 10;
};

class PanelConvolution final : public OwnConvolution {
 public:
  PanelConvolution(const PanelLayer& layer, std::vector<ProductFinish> finish, int threads,
                   const SimdKernels& kernels = simd());

  // Whether it may compute in float16, as far as its layer tells; weights have to be neither too
  // large nor all small (fp16_product.h).
  bool may_compute_in_float16() const;
  void compute_in_float16(const Fp16Kernels& kernels) { fp16_ = &kernels; }
  bool computes_in_float16() const { return fp16_ != nullptr; }

  std::size_t weight_floats() const override;
  std::size_t workspace_floats() const override;
  std::int64_t flops() const override;
  bool adds() const override { return finish_.adds(); }
  void pack_weights(const float* weights, float* packed) const override;
  // From [channels, outputs], for a matrix product.
  void pack_transposed(const float* weights, float* packed) const;
  void run(const ConvolutionOperands& operands) const override;

 private:
  // Rows of results by panels of columns.
  struct Part {
    std::size_t first_row = 0, rows = 0;
    std::size_t first_panel = 0, last_panel = 0;
  };

  std::size_t panels() const { return kernels_.panels_for(layer_.outputs); }
  std::size_t row_stride() const;     // of sums
  std::size_t patch_stride() const;   // of patches
  bool reads_in_place() const;        // patches are the pixels themselves
  std::size_t copied_floats() const;  // of a block's patches
  bool widens_panels() const;
  std::size_t workspace_of_part() const;
  Part part(std::size_t index) const;
  template <typename WeightAt>
  void pack(const WeightAt& weight_at, float* packed) const;
  // `Number` is float, or that of 16-bit sources.
  template <typename Number>
  void copy_patch(const float* source, std::size_t row, Number* patch) const;
  void copy_taps(const float* source, std::size_t at, std::size_t count, float* to) const;
  void copy_taps(const float* source, std::size_t at, std::size_t count, std::uint16_t* to) const;
  void copy_patches(const float* source, const Part& part, float* patches) const;
  void multiply_in_float16(const float* patches, const float* weights, const Part& part,
                           float* sums) const;
  void run_part(const ConvolutionOperands& operands, const Part& part, float* workspace) const;
  void multiply(const float* patches, const float* weights, const Part& part, float* sums) const;
  void multiply_halves(const float* patches, const float* weights, const Part& part,
                       float* sums) const;
  void finish(const ConvolutionOperands& operands, const Part& part, float* sums) const;

  const SimdKernels& kernels_;
  PanelLayer layer_;
  FinishedRows finish_;
  const Fp16Kernels* fp16_ = nullptr;  // null: computes in float32
  int threads_ = 1;
  std::size_t rows_ = 0;   // pixels of all results
  std::size_t depth_ = 0;  // numbers of a patch: tap by tap, all channels of each
  std::size_t rows_in_block_ = 0;
  std::size_t blocks_ = 0;
  std::size_t parts_of_block_ = 1;
};

}  // namespace assay::cpu
