#include "execute/cpu/kernels/packed_convolution.h"

#include "base/fail.h"

namespace assay::cpu {

void PackedConvolution::pack_weights(const float* weights, float* packed) const {
  if (!takes_floats()) fail_running("8-bit weights are packed with their scales");
  pack({.weights = weights}, reinterpret_cast<std::byte*>(packed));
}

void PackedConvolution::run(const ConvolutionOperands& operands) const {
  run(TileOperands{.source = operands.source,
                   .weights = operands.weights,
                   .addend = adds() ? operands.addend : nullptr,
                   .result = operands.result,
                   .workspace = operands.workspace});
}

}  // namespace assay::cpu
