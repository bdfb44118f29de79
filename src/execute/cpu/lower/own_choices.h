// The convolutions of our own that could run a layer, for the tuner to compare with oneDNN's.
#pragma once

#include "execute/cpu/kernels/own_convolution.h"
#include "execute/cpu/lower/convolution_layer.h"
#include "execute/cpu/lower/fused_ops.h"

namespace assay::cpu {

// `others`: oneDNN's choices for the same layer.
std::vector<Choice> own_choices(const Lowering& lowering, const ConvolutionLayer& layer,
                                const FusedOps& fused, const std::vector<Choice>& others);

// The same for weights that change from run to run, in the forward or backward pass; in the
// backward pass nothing is fused.
std::vector<Choice> trained_choices(const Lowering& lowering, const ConvolutionLayer& layer,
                                    const FusedOps* fused, ConvolutionKind kind,
                                    const std::vector<Choice>& others);

// Whether oneDNN compiles it for this processor, rather than that a compiler made its loops.
bool is_generated(const Choice& choice);

// An addition, then an activation that is a clamp; or one of them, or none.
std::optional<Epilogue> epilogue_of(const FusedOps& fused);

Binder own_binder(const Choice& choice, const std::vector<Argument>& arguments,
                  const std::optional<Placement>& addend = {});

}  // namespace assay::cpu
