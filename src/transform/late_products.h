// An order of nodes in which sums of 8-bit products come as late as they may, so that whoever runs
// one has its scales and bias at hand and can finish it in one step.
#pragma once

#include <vector>

#include "assay/graph.h"

namespace assay::transform {

// ConvInteger and MatMulInteger, and Add and Cast of their sums, each right before the one node
// that reads it; all others in the order of the graph.
std::vector<NodeId> order_with_late_products(const Graph& graph);

}  // namespace assay::transform
