// The tensor that a Constant node stands for.
#pragma once

#include "assay/graph.h"

namespace assay::graph {

// Throws an Error unless the node has exactly one of the attributes a Constant may have.
Tensor constant_tensor(const Node& node);

}  // namespace assay::graph
