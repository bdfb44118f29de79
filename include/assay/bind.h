// Gives a graph's inputs definite shapes: symbolic dimensions by name, the batch, whole shapes.
//
// An unbound dimension at axis 0 of an input is taken to be the batch and becomes 1; this
// assumption is reported. Any other unbound dimension is an Error that names the argument to set.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/graph.h"

namespace assay {

struct Bindings {
  std::map<std::string, std::int64_t> dims = {};   // --dim NAME=N
  std::optional<std::int64_t> batch = {};          // --batch N
  std::map<std::string, Shape> input_shapes = {};  // --input NAME=1x3x224x224
};

struct BoundGraph {
  Graph graph;
  std::vector<std::string> assumptions;  // one sentence each, with the argument that replaces it
};

BoundGraph bind_inputs(Graph graph, const Bindings& bindings);

}  // namespace assay
