// Interface of our own convolutions and matrix products: planned for sizes and a number of threads,
// then run in memory that the engine allocates. Each kernel says which layout and element types it
// takes; pointers to float may point to other types. Most work on channels-last images.
#pragma once

#include <cstdint>

#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

struct ConvolutionOperands {
  const float* source = nullptr;
  const float* weights = nullptr;  // packed
  const float* bias = nullptr;     // may be null
  const float* addend = nullptr;   // where something is added; may be the result itself
  float* result = nullptr;
  float* workspace = nullptr;
};

// With the operands at hand, for results from position `at` on.
inline Epilogue bound_epilogue(const ConvolutionOperands& operands, Epilogue epilogue,
                               std::size_t at = 0) {
  epilogue.bias = operands.bias;
  epilogue.addend = operands.addend == nullptr ? nullptr : operands.addend + at;
  return epilogue;
}

class OwnConvolution {
 public:
  virtual ~OwnConvolution() = default;

  virtual std::size_t weight_floats() const = 0;
  virtual std::size_t workspace_floats() const = 0;
  virtual std::int64_t flops() const = 0;  // that a run executes
  virtual bool adds() const = 0;

  // From [outputs, channels, kernel…].
  virtual void pack_weights(const float* weights, float* packed) const = 0;
  virtual void run(const ConvolutionOperands& operands) const = 0;
};

}  // namespace assay::cpu
