// Random networks of 8-bit numbers: layers written as one quantised op or as a float op between
// DequantizeLinear and QuantizeLinear.
#pragma once

#include <vector>

#include "assay/graph.h"

namespace assay {

struct QuantizedGraph {
  Graph graph;  // with a random part of its 8-bit values as outputs, the last one always
  std::vector<Tensor> inputs = {};
};

// The same for the same seed.
QuantizedGraph quantized_graph(std::uint64_t seed);

}  // namespace assay
