// Which values somebody reads.
#pragma once

#include <vector>

#include "assay/graph.h"

namespace assay::transform {

// By value: whether any node reads it, a body of one, or whoever runs the graph.
std::vector<bool> read_values(const Graph& graph);

}  // namespace assay::transform
