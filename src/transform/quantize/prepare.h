// A float model in the form that is quantised: batch norms folded, constants computed, every node
// named as people know it from the original.
#pragma once

#include <optional>
#include <string>

#include "assay/graph.h"

namespace assay::transform {

Graph prepared_to_quantize(const Graph& model);

// In words what shows that a model is quantised already; nothing if it is not.
std::optional<std::string> why_already_quantized(const Graph& model);

}  // namespace assay::transform
