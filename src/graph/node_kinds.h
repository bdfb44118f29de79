// Questions about a node that need nothing but the node.
#pragma once

#include "assay/graph.h"

namespace assay::graph {

bool holds_subgraph(const Node& node);

// True where running the node twice may give different results, as far as we know.
bool is_random(const Node& node);

// Whether a BatchNormalization normalises by the statistics of its batch.
bool is_training_batch_norm(const Node& node, std::int64_t opset);

}  // namespace assay::graph
