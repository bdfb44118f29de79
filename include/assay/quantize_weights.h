// Weight-only quantisation: products with a constant float matrix become MatMulNBits
// (com.microsoft), whose matrix is stored as 4- or 8-bit codes with a scale for each block of a
// column. Activations stay floats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/graph.h"

namespace assay {

struct WeightQuantization {
  int bits = 4;             // 4 or 8
  std::int64_t block = 32;  // weights of a column that share a scale: a power of two from 16 on
  bool symmetric = true;    // false: each block also has a zero point
};

struct QuantizedWeights {
  Graph graph;
  std::vector<std::string> layers;  // products whose weights are codes now, in execution order
};

// MatMul and Gemm with a float32 matrix on the right, stored as it is used or transposed. A token
// embedding that is also the head keeps its float table for looking up; the head gets codes of its
// own. Codes are computed when they are first read.
QuantizedWeights quantize_weights(const Graph& graph, const WeightQuantization& how = {});

}  // namespace assay
