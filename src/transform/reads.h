// Which values are read.
#pragma once

#include <vector>

#include "assay/graph.h"

namespace assay::transform {

// By value: whether it is read by a node, by a node's body, or as an output.
std::vector<bool> read_values(const Graph& graph);

}  // namespace assay::transform
