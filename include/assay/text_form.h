// A readable text form of a graph, for tests and debugging: one line a node.
#pragma once

#include <string>

#include "assay/graph.h"

namespace assay {

std::string to_text(const Graph& graph);

}  // namespace assay
