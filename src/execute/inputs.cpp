#include "execute/inputs.h"

#include "base/checked.h"
#include "base/fail.h"

namespace assay {

std::vector<Value> values_of(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<Value> values;
  for (const ValueId id : ids) values.push_back(graph.value(id));
  return values;
}

void check_is_runnable(const Graph& graph) {
  for (const ValueId id : graph.inputs()) {
    const Value& input = graph.value(id);
    if (input.type.is_tensor() && input.type.has_known_shape()) continue;
    fail_bad_input("input '{}' is {}: a program takes tensors of known shape", input.name,
                   input.type.to_string());
  }
  for (const ValueId id : graph.outputs()) {
    const Value& output = graph.value(id);
    if (output.type.is_tensor()) continue;
    fail_bad_input("output '{}' is {}: a program gives tensors", output.name,
                   output.type.to_string());
  }
}

void check_inputs(const std::vector<Value>& wanted, std::span<const Tensor> given) {
  if (given.size() != wanted.size()) {
    fail_bad_input("the model takes {} inputs, {} are given", wanted.size(), given.size());
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const ValueType type = tensor_type(given[i].type(), given[i].shape());
    if (type == wanted[i].type) continue;
    fail_bad_input("input '{}' should be {}, {} is given", wanted[i].name,
                   wanted[i].type.to_string(), type.to_string());
  }
}

std::int64_t stored_bytes(const Graph& graph) {
  std::int64_t total = 0;
  for (const Initializer& stored : graph.initializers()) {
    total = saturating_add(total, static_cast<std::int64_t>(stored.tensor.byte_size()));
  }
  for (const Node& node : graph.nodes()) {
    for_each_subgraph(
        node, [&](const Graph& body) { total = saturating_add(total, stored_bytes(body)); });
  }
  return total;
}

}  // namespace assay
