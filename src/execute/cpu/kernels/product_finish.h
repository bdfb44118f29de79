// What is done to rows of sums before they are written: bias, activations, an addend, in order.
#pragma once

#include <optional>
#include <vector>

#include "execute/cpu/kernels/own_convolution.h"

namespace assay::cpu {

// One operation on the sums, after the bias was added.
struct ProductFinish {
  enum class Kind { Unary, Add };
  Kind kind = Kind::Unary;
  UnaryOp op = UnaryOp::Copy;
  float alpha = 0;
  float beta = 0;
};

class FinishedRows {
 public:
  // `result` is the format of results and addend; nothing: floats.
  FinishedRows(std::vector<ProductFinish> finish, std::optional<HalfFormat> result,
               const SimdKernels& kernels);

  bool adds() const;
  // `count` sums, which are written over, become results from position `at` on; the first of them
  // belongs to `column`.
  void finish(const ConvolutionOperands& operands, std::size_t at, std::size_t column,
              std::size_t count, float* sums) const;

 private:
  void finish_stretch(const ConvolutionOperands& operands, std::size_t at, std::size_t column,
                      std::size_t count, float* sums) const;

  std::vector<ProductFinish> finish_;
  std::optional<Epilogue> epilogue_;  // the same, where it is a sum and a clamp
  std::optional<HalfFormat> result_;
  const SimdKernels& kernels_;
};

}  // namespace assay::cpu
