#include "execute/reference/interpreter.h"

#include <algorithm>
#include <new>

#include "base/checked.h"
#include "base/free_memory.h"

namespace assay::reference {

using kernels::evaluate;
using kernels::has_kernel;

Interpreter::Interpreter(const Graph& graph) : Interpreter(graph, {graph.opsets, 0}) {}

Interpreter::Interpreter(const Graph& graph, const InterpreterContext& context)
    : graph_(graph), stored_(graph.value_count()) {
  // Deeper than any model; below what the stack of a thread holds.
  constexpr int kDeepestBody = 64;
  if (context.depth > kDeepestBody)
    fail_bad_input("graph '{}': bodies lie more than {} deep", graph.name, kDeepestBody);
  for (const Initializer& stored : graph.initializers()) {
    stored_[stored.value.number] = stored.tensor;
  }
  nodes_.reserve(graph.node_count());
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    nodes_.emplace_back(graph, NodeId{i}, context);
  }
  plan_lifetimes();
}

// Every value is released after the last node that reads it, or that makes it if none does.
void Interpreter::plan_lifetimes() {
  last_read_by_.resize(graph_.node_count());
  const auto readers = consumers(graph_);
  std::vector<bool> is_output(graph_.value_count(), false);
  for (const ValueId output : graph_.outputs()) is_output[output.number] = true;
  for (std::uint32_t i = 0; i < graph_.value_count(); ++i) {
    const ValueId id{i};
    if (is_output[i] || graph_.initializer(id) != nullptr) continue;
    const NodeId last = readers[i].empty() ? graph_.producer(id) : readers[i].back();
    if (last.is_valid())
      last_read_by_[last.number].push_back(id);
    else
      never_read_.push_back(id);
  }
}

std::vector<RuntimeValue> Interpreter::run(std::vector<RuntimeValue> inputs,
                                           const ValueLookup& around, LiveBytes* live) const {
  Frame frame = begin(std::move(inputs), around, live);
  for (std::uint32_t i = 0; i < graph_.node_count(); ++i) step(frame, NodeId{i});
  return finish(frame);
}

Interpreter::Frame Interpreter::begin(std::vector<RuntimeValue> inputs, const ValueLookup& around,
                                      LiveBytes* live) const {
  if (inputs.size() != graph_.inputs().size()) {
    fail_bad_input("graph '{}' takes {} inputs, {} are given", graph_.name, graph_.inputs().size(),
                   inputs.size());
  }
  Frame frame{.values = std::vector<RuntimeValue>(graph_.value_count()), .live = live};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    set(frame, graph_.inputs()[i], std::move(inputs[i]));
  }
  for (const Capture& capture : graph_.captures()) set(frame, capture.inner, around(capture.outer));
  for (const ValueId id : never_read_) release(frame, id);
  return frame;
}

void Interpreter::step(Frame& frame, NodeId id) const {
  const Node& node = graph_.node(id);
  const ValueLookup lookup = [&](ValueId value) -> const RuntimeValue& {
    return value_of(frame, value);
  };
  auto outputs = nodes_[id.number].run(inputs_of(frame, id), lookup, frame.live);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (node.outputs[i].is_valid()) set(frame, node.outputs[i], std::move(outputs[i]));
  }
  for (const ValueId value : last_read_by_[id.number]) release(frame, value);
}

std::vector<RuntimeValue> Interpreter::finish(Frame& frame) const {
  std::vector<RuntimeValue> results;
  for (const ValueId output : graph_.outputs()) results.push_back(value_of(frame, output));
  for (const ValueId output : graph_.outputs()) release(frame, output);
  return results;
}

void Interpreter::set(Frame& frame, ValueId id, RuntimeValue value) const {
  if (frame.live != nullptr) frame.live->hold(value);
  frame.values[id.number] = std::move(value);
}

void Interpreter::release(Frame& frame, ValueId id) const {
  const RuntimeValue value = std::move(frame.values[id.number]);
  frame.values[id.number] = {};
  if (frame.live != nullptr) frame.live->drop(value);
}

const RuntimeValue& Interpreter::value_of(const Frame& frame, ValueId id) const {
  const RuntimeValue& stored = stored_[id.number];
  return stored.has_value() ? stored : frame.values[id.number];
}

// A sequence that is read for the last time is handed over, so that appending to it does not copy
// it; a tensor is a view, and costs nothing to copy.
std::vector<RuntimeValue> Interpreter::inputs_of(Frame& frame, NodeId id) const {
  const Node& node = graph_.node(id);
  const auto& ending = last_read_by_[id.number];
  const bool has_bodies = std::ranges::any_of(node.attributes, [](const Attribute& attribute) {
    return std::holds_alternative<GraphPtr>(attribute.value);
  });
  const auto is_handed_over = [&](ValueId input) {
    return !has_bodies && frame.values[input.number].sequence() != nullptr &&
           std::ranges::count(node.inputs, input) == 1 && std::ranges::count(ending, input) == 1;
  };
  std::vector<RuntimeValue> inputs(node.inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueId input = node.inputs[i];
    if (!input.is_valid()) continue;
    if (!is_handed_over(input)) {
      inputs[i] = value_of(frame, input);
      continue;
    }
    if (frame.live != nullptr) frame.live->drop(frame.values[input.number]);
    inputs[i] = std::move(frame.values[input.number]);
    frame.values[input.number] = {};
  }
  return inputs;
}

NodeEvaluator::NodeEvaluator(NodeEvaluator&&) noexcept = default;
NodeEvaluator::~NodeEvaluator() = default;

NodeEvaluator::NodeEvaluator(const Graph& graph, NodeId node)
    : NodeEvaluator(graph, node, {graph.opsets, 0}) {}

NodeEvaluator::NodeEvaluator(const Graph& graph, NodeId node, const InterpreterContext& context)
    : node_(graph.node(node)) {
  node_.name = graph.display_name(node);
  const auto opset = context.opsets.find(node_.domain);
  opset_ = opset == context.opsets.end() ? 0 : opset->second;
  value_op_ = find_value_op(node_);
  if (value_op_ == nullptr && !has_kernel(node_)) {
    fail_bad_input(
        "{}{}{} '{}': no kernel for this op; assay can count this model but not run it: `assay "
        "count`",
        node_.domain, node_.domain.empty() ? "" : ".", node_.op, node_.name);
  }
  for (const ValueId output : node_.outputs) {
    if (!output.is_valid()) continue;
    const ValueType& type = graph.value(output).type;
    const auto elements = type.shape ? type.shape->elements() : std::nullopt;
    if (!elements) continue;
    output_bytes_ =
        saturating_add(output_bytes_, byte_size(type.element, *elements).value_or(INT64_MAX));
  }
  prepare_bodies(context);
}

void NodeEvaluator::prepare_bodies(const InterpreterContext& context) {
  const InterpreterContext inside{context.opsets, context.depth + 1};
  for_each_subgraph(node_, [&](const Graph& body) {
    auto& prepared = bodies_[&body];  // both branches of an If may be the same
    if (prepared == nullptr) prepared = std::make_unique<Interpreter>(body, inside);
  });
}

std::vector<RuntimeValue> NodeEvaluator::run(std::vector<RuntimeValue> inputs,
                                             const ValueLookup& around, LiveBytes* live) const {
  const auto what = [&] { return fmt::format("{} '{}'", node_.op, node_.name); };
  check_memory_for(output_bytes_, what);
  try {
    auto outputs = value_op_ != nullptr ? run_value_op(inputs, around, live) : run_kernel(inputs);
    check_outputs(outputs);
    return outputs;
  } catch (const std::bad_alloc&) {
    fail_running("{} ran out of memory", what());
  } catch (const std::length_error&) {
    fail_running("{} needs more memory than any machine has", what());
  }
}

std::vector<Tensor> NodeEvaluator::run(const std::function<Tensor(ValueId)>& value_of) const {
  std::map<ValueId, RuntimeValue> captured;
  for_each_subgraph(node_, [&](const Graph& body) {
    for (const Capture& capture : body.captures()) {
      captured.emplace(capture.outer, value_of(capture.outer));
    }
  });
  std::vector<RuntimeValue> inputs;
  for (const ValueId input : node_.inputs) {
    inputs.push_back(input.is_valid() ? RuntimeValue(value_of(input)) : RuntimeValue());
  }
  const auto outputs =
      run(std::move(inputs), [&](ValueId id) -> const RuntimeValue& { return captured.at(id); });
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].sequence() != nullptr)
      fail_bad_input("{} '{}': output {} is a sequence", node_.op, node_.name, i);
    tensors.push_back(outputs[i].tensor() != nullptr ? *outputs[i].tensor() : Tensor());
  }
  return tensors;
}

std::vector<RuntimeValue> NodeEvaluator::run_kernel(std::span<const RuntimeValue> inputs) const {
  std::vector<Tensor> tensors;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].sequence() != nullptr)
      fail_bad_input("{} '{}': input {} is a sequence, a tensor is needed", node_.op, node_.name,
                     i);
    tensors.push_back(inputs[i].tensor() != nullptr ? *inputs[i].tensor() : Tensor());
  }
  auto outputs = evaluate(node_, tensors, opset_);
  return {std::make_move_iterator(outputs.begin()), std::make_move_iterator(outputs.end())};
}

std::vector<RuntimeValue> NodeEvaluator::run_value_op(std::span<RuntimeValue> inputs,
                                                      const ValueLookup& around,
                                                      LiveBytes* live) const {
  const ValueCall::RunBody run_body = [&](const Graph& body, std::vector<RuntimeValue> given) {
    return bodies_.at(&body)->run(std::move(given), around, live);
  };
  return value_op_(ValueCall{node_, inputs, opset_, run_body});
}

// An op may give more than the node asks for, never less.
void NodeEvaluator::check_outputs(std::vector<RuntimeValue>& outputs) const {
  for (std::size_t i = outputs.size(); i < node_.outputs.size(); ++i) {
    if (node_.has_output(i))
      fail_bad_input("{} '{}': gives {} outputs, number {} is used", node_.op, node_.name,
                     outputs.size(), i);
  }
  outputs.resize(node_.outputs.size());
}

}  // namespace assay::reference
