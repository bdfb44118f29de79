// Which nodes of a float graph compute in 8 bits, and which of its values are stored in 8 bits.
//
// A layer (convolution, product) is quantised wherever its form allows. Ops between layers join in
// when an operand is quantised already: sums, pools, softmax, ops that only move elements,
// functions of one number. A Relu or Clip after a quantised op is part of it: the value between
// stays as it is. Sums that lead into a layer norm stay float, since their range is dominated by
// few elements.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "assay/graph.h"

namespace assay::transform {

// A layer, or what would be one: Conv, Gemm, MatMul, recurrent layers, …
struct PlannedLayer {
  NodeId node;
  std::string why_float = "";  // empty: it is quantised
};

struct QuantizationPlan {
  std::vector<bool> is_quantized_node;  // by node
  // By value: the value whose range decides its scale, which is another one after ops that only
  // move elements; invalid for values that stay as they are.
  std::vector<ValueId> range_from;
  std::vector<PlannedLayer> layers;

  bool is_quantized(ValueId id) const { return id.is_valid() && range_from[id.number].is_valid(); }
};

struct PlanOptions {
  std::set<std::string, std::less<>> keep_float = {};  // nodes, by name
  std::set<std::string, std::less<>> only = {};        // if not empty, nothing but these layers
};

QuantizationPlan plan_quantization(const Graph& graph, const PlanOptions& options = {});

// Has a constant weight as its second operand: Conv, Gemm, MatMul.
const Tensor* layer_weight(const Graph& graph, const Node& node);
// The axis of the weight along which output channels lie.
std::size_t output_axis(const Node& node);

}  // namespace assay::transform
