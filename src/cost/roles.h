// What an op does with a stored tensor on one of its inputs.
#pragma once

#include "assay/graph.h"
#include "cost/ledger.h"

namespace assay::cost {

// True when the op only passes the tensor on with another shape, type or order.
bool passes_on(const Node& node, std::size_t input, DataType type, bool other_inputs_are_known);

// What a tensor's values reveal: in an attention mask every value is 0 or a huge negative number.
enum class Content { Ordinary, Zeros, Mask };
Content content_of(const Tensor& tensor);

// True when the role of a tensor of this kind depends on `content_of`.
bool needs_content(const Node& node, std::size_t input, const Tensor& tensor);

// One input of one node, and a stored tensor that arrives there.
struct TensorUse {
  const Graph& graph;
  NodeId node;
  std::size_t input = 0;
  const Tensor& tensor;
  bool is_quantised = false;  // it came through DequantizeLinear, where integers are weights
  Content content = Content::Ordinary;  // looked at only where `needs_content` says so
};

Role role_of(const TensorUse& use);

}  // namespace assay::cost
