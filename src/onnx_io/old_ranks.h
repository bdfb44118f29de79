// How many axes each value has, as far as a file of an old operator set tells: by declarations, by
// stored tensors, and by ops that obviously keep or set the number.
#pragma once

#include <optional>
#include <vector>

#include "assay/graph.h"

namespace assay::onnx {

std::vector<std::optional<std::size_t>> old_ranks(const Graph& graph);  // by value

}  // namespace assay::onnx
