#include "execute/inputs.h"

#include <algorithm>

#include "base/checked.h"
#include "base/fail.h"

namespace assay::execute {

std::vector<Value> values_of(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<Value> values;
  for (const ValueId id : ids) values.push_back(graph.value(id));
  return values;
}

namespace {

std::vector<ValueId> without_state(const Graph& graph, std::span<const ValueId> ids,
                                   ValueId Carried::*side) {
  std::vector<ValueId> rest(ids.begin(), ids.end());
  std::erase_if(rest, [&](ValueId id) {
    return std::ranges::find(graph.carried(), id, side) != graph.carried().end();
  });
  return rest;
}

void check_state(const Graph& graph) {
  for (const auto& [input, output] : graph.carried()) {
    if (graph.value(input).type == graph.value(output).type) continue;
    fail_bad_input("state '{}' is {}, what should replace it, '{}', is {}", graph.value(input).name,
                   graph.value(input).type.to_string(), graph.value(output).name,
                   graph.value(output).type.to_string());
  }
}

}  // namespace

std::vector<ValueId> given_inputs(const Graph& graph) {
  return without_state(graph, graph.inputs(), &Carried::input);
}

std::vector<ValueId> taken_outputs(const Graph& graph) {
  return without_state(graph, graph.outputs(), &Carried::output);
}

std::vector<ValueId> state_inputs(const Graph& graph) {
  std::vector<ValueId> ids;
  for (const Carried& state : graph.carried()) ids.push_back(state.input);
  return ids;
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
  check_state(graph);
}

void check_inputs(const std::vector<Value>& wanted, std::span<const Tensor> given,
                  std::string_view what) {
  if (given.size() != wanted.size()) {
    fail_bad_input("the model takes {} {}s, {} are given", wanted.size(), what, given.size());
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const ValueType type = tensor_type(given[i].type(), given[i].shape());
    if (type == wanted[i].type) continue;
    fail_bad_input("{} '{}' should be {}, {} is given", what, wanted[i].name,
                   wanted[i].type.to_string(), type.to_string());
  }
}

std::int64_t stored_bytes(const Graph& graph, std::optional<DataType> precision) {
  std::int64_t total = 0;
  for (const Initializer& stored : graph.initializers()) {
    const Tensor& tensor = stored.tensor;
    const auto bytes = precision && is_floating(tensor.type())
                           ? byte_size(*precision, tensor.elements()).value_or(0)
                           : static_cast<std::int64_t>(tensor.byte_size());
    total = saturating_add(total, bytes);
  }
  for (const Node& node : graph.nodes()) {
    for_each_subgraph(node, [&](const Graph& body) {
      total = saturating_add(total, stored_bytes(body, precision));
    });
  }
  return total;
}

}  // namespace assay::execute
