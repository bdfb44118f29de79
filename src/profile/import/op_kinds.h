// Which operators of other runtimes do the work of which ONNX operators.
#pragma once

#include <string>
#include <string_view>

namespace assay::profile {

// The same text for operators that can stand for each other: "conv" for ONNX's Conv, ONNX Runtime's
// FusedConv, OpenVINO's GroupConvolution, LiteRT's DEPTHWISE_CONV_2D and PyTorch's conv2d. An
// operator without such relatives has its own name in lower case. Empty for an empty name.
std::string op_kind(std::string_view op);

// Whether a kernel of the kind `kernel` may be fused from nodes of which one has the kind `node`:
// "gelu" from an "erf".
bool may_stand_for(std::string_view kernel, std::string_view node);

// Kinds that runtimes add for the kernel that follows: copies, conversions, other shapes.
bool only_moves(std::string_view kind);
// Kinds that exporters fold into the layer before, so that the model has no node of them.
bool is_often_folded(std::string_view kind);

}  // namespace assay::profile
