// A convolution of our own whose bias and scales are stored with its weights; all operands are
// bytes of the types it was planned for.
#pragma once

#include <cstddef>

#include "execute/cpu/kernels/own_convolution.h"

namespace assay::cpu {

// All row-major. `weights` are [outputs, channels, kernel…] of std::int8_t or, for bf16, floats,
// which are rounded; with `are_transposed`, of a matrix product, [channels, outputs].
struct TileParameters {
  const void* weights = nullptr;
  bool are_transposed = false;
  const void* bias = nullptr;     // std::int32_t in units of the sums or, for bf16, floats
  const float* scales = nullptr;  // of 8-bit numbers: one for each output
};

struct TileOperands {
  const void* source = nullptr;
  const void* weights = nullptr;  // packed
  const void* addend = nullptr;   // where the epilogue has a type for it; may be the result
  void* result = nullptr;
  void* workspace = nullptr;
};

class PackedConvolution : public OwnConvolution {
 public:
  virtual bool takes_floats() const = 0;  // as weights and bias; else integers
  virtual std::size_t outputs() const = 0;
  virtual std::size_t weight_bytes() const = 0;  // multiples of 64
  virtual void pack(const TileParameters& parameters, std::byte* packed) const = 0;

  virtual std::size_t workspace_bytes() const = 0;
  virtual void run(const TileOperands& operands) const = 0;

  // As the engine sees every convolution of ours: the pointers are to bytes.
  std::size_t weight_floats() const override { return weight_bytes() / sizeof(float); }
  std::size_t workspace_floats() const override { return workspace_bytes() / sizeof(float); }
  void pack_weights(const float* weights, float* packed) const override;  // bf16 without bias
  void run(const ConvolutionOperands& operands) const override;
};

}  // namespace assay::cpu
