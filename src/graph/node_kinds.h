// Properties of a node that follow from the node alone.
#pragma once

#include "assay/graph.h"

namespace assay::graph {

bool holds_subgraph(const Node& node);

// True for ops known to draw random numbers: running the node twice gives different results.
bool is_random(const Node& node);

// Whether a BatchNormalization normalises by the statistics of its batch.
bool is_training_batch_norm(const Node& node, std::int64_t opset);

}  // namespace assay::graph
