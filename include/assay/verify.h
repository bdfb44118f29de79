// Checks that a graph is well formed, so that everything after may rely on it.
#pragma once

#include "assay/graph.h"

namespace assay {

// Throws an Error naming node and tensor unless: every index is in range, every value is defined
// exactly once (input, initializer, capture or node output) and before it is read, names are
// unique and not empty, and every subgraph is well formed too.
void verify(const Graph& graph);

}  // namespace assay
