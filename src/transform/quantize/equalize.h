// Cross-layer equalisation: where one layer feeds the next, perhaps through a Relu, a channel may
// be divided by a positive number in the first and multiplied by it in the second without changing
// the model. Ranges of weights become equal that way, and with them those of activations.
#pragma once

#include <cstddef>

#include "assay/graph.h"

namespace assay::transform {

struct EqualizedGraph {
  Graph graph;
  std::size_t pairs = 0;  // of layers that were equalised
};

EqualizedGraph equalize_layers(const Graph& graph);

}  // namespace assay::transform
