// A planned float graph with the scales of its values, written as QuantizeLinear and
// DequantizeLinear pairs around float ops.
#pragma once

#include <map>
#include <vector>

#include "transform/quantize/linear_scale.h"
#include "transform/quantize/plan.h"

namespace assay::transform {

struct QdqOptions {
  bool per_channel = true;
  // By node: what is added to the bias of a layer, one number for each output channel.
  std::map<NodeId, std::vector<double>> bias_corrections = {};
};

struct QdqGraph {
  Graph graph;
  std::map<NodeId, std::vector<float>> weight_scales;  // by node of the float graph
  std::vector<std::string> warnings;
};

// `scales` has one entry for each value; those of values that others take their scale from count.
QdqGraph write_qdq(const Graph& graph, const QuantizationPlan& plan,
                   const std::vector<LinearScale>& scales, const QdqOptions& options);

}  // namespace assay::transform
