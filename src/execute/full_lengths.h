// The inputs of a model that say how long its sequences are: those that reach the lengths of a
// recurrent layer. Numbers drawn at random would leave out most of the layer's work.
#pragma once

#include <map>
#include <string>

#include "assay/graph.h"

namespace assay::execute {

// For each such input whose shape is known, by name: every sequence as long as the layer allows.
std::map<std::string, Tensor> full_lengths(const Graph& graph);

}  // namespace assay::execute
