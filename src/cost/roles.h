// What an op does with a stored tensor on one of its inputs.
#pragma once

#include "assay/graph.h"
#include "cost/ledger.h"

namespace assay {

// True when the op only hands the tensor on under another shape, type or order.
bool passes_on(const Node& node, std::size_t input, bool other_inputs_are_known);

// One input of one node, and a stored tensor that arrives there.
struct TensorUse {
  const Graph& graph;
  NodeId node;
  std::size_t input = 0;
  const Tensor& tensor;
  bool is_quantised = false;  // it came through DequantizeLinear, where integers are weights
};

Role role_of(const TensorUse& use);

}  // namespace assay
