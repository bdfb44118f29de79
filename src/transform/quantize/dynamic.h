// Dynamic quantisation: weights in 8 bits, activations quantised in every run over their own range,
// in the form that ONNX Runtime writes: DynamicQuantizeLinear, MatMulInteger, Cast, Mul.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "assay/graph.h"

namespace assay::transform {

struct DynamicOptions {
  bool per_channel = true;
  std::set<std::string, std::less<>> keep_float = {};
};

struct DynamicLayer {
  std::string name;
  std::string op;
  std::vector<float> weight_scales;
  std::string why_float;  // empty: it is quantised
};

struct DynamicGraph {
  Graph graph;
  std::vector<DynamicLayer> layers;  // matrix products, in execution order
};

DynamicGraph write_dynamic(const Graph& model, const DynamicOptions& options);

}  // namespace assay::transform
