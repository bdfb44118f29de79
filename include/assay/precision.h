// The same model with weights and activations in another floating type.
//
// Inputs and outputs keep their types: there is a Cast after each input and before each output. Ops
// that lose too much in 16 bits (exponentials, powers, sums over axes, recurrent layers, resizing,
// statistics of norms; docs/precision.md lists them) compute in float32, with a Cast before and
// after.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "assay/graph.h"

namespace assay {

// "fp32", "bf16", "fp16" or "int8" as a type; throws an Error for any other name. Int8 is only for
// models that are already quantised: cast_precision does not take it.
DataType float_precision(std::string_view name);

struct CastModel {
  Graph graph;
  // Of weights that float16 cannot hold: they become the largest it has, 65504 or -65504.
  std::vector<std::string> warnings;
};

// `type` is float32, bfloat16 or float16. Batch norms are folded into convolutions first. The graph
// needs known shapes, and must not carry state from run to run (a step of training).
CastModel cast_precision(const Graph& graph, DataType type);

// The warnings that `cast_precision` would give. Reads all weights for float16, and nothing for
// other types.
std::vector<std::string> precision_warnings(const Graph& graph, DataType type);

}  // namespace assay
