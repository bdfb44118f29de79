// If, Loop and SequenceMap: bodies chosen, repeated, or applied to every element.
#include <algorithm>

#include "execute/reference/stacking.h"
#include "execute/reference/value_ops.h"

namespace assay::reference {

namespace {

std::vector<RuntimeValue> if_else(const ValueCall& call) {
  const bool condition = call.integer(0) != 0;
  return call.run_body(call.body(condition ? "then_branch" : "else_branch"), {});
}

Tensor truth(bool value) {
  const std::uint8_t byte = value ? 1 : 0;
  return Tensor::of<std::uint8_t>(DataType::Bool, {}, std::span(&byte, 1));
}

bool is_true(const ValueCall& call, const RuntimeValue& condition) {
  const Tensor* tensor = condition.tensor();
  if (tensor == nullptr || tensor->elements() != 1)
    call.fail("its body's condition is no truth value");
  return tensor->to_int64().front() != 0;
}

// A loop between two rounds: what it carries, and the slices it has collected, which grow only as
// fast as rounds are run.
struct LoopState {
  const Graph& body;
  std::int64_t round = 0;
  bool goes_on = true;
  std::vector<RuntimeValue> carried = {};
  std::vector<std::vector<Tensor>> collected = {};
};

LoopState first_state(const ValueCall& call) {
  LoopState loop{.body = call.body("body")};
  loop.goes_on = !call.has(1) || call.integer(1) != 0;
  for (std::size_t i = 2; i < call.inputs.size(); ++i) {
    loop.carried.push_back(std::move(call.inputs[i]));
  }
  const std::size_t fixed = 1 + loop.carried.size();
  if (loop.body.inputs().size() != fixed + 1 || loop.body.outputs().size() < fixed) {
    call.fail("its body takes {} and gives {} values, but {} are carried",
              loop.body.inputs().size(), loop.body.outputs().size(), loop.carried.size());
  }
  loop.collected.resize(loop.body.outputs().size() - fixed);
  return loop;
}

void collect(const ValueCall& call, RuntimeValue& value, std::vector<Tensor>& slices) {
  if (value.tensor() == nullptr) call.fail("collects sequences, only tensors can be");
  slices.push_back(*value.tensor());
}

void run_round(const ValueCall& call, LoopState& loop) {
  std::vector<RuntimeValue> inputs;
  inputs.emplace_back(Tensor::of_int64({}, {loop.round}));
  inputs.emplace_back(truth(loop.goes_on));
  std::ranges::move(loop.carried, std::back_inserter(inputs));
  auto outputs = call.run_body(loop.body, std::move(inputs));
  loop.goes_on = is_true(call, outputs[0]);
  for (std::size_t i = 0; i < loop.carried.size(); ++i) {
    loop.carried[i] = std::move(outputs[1 + i]);
  }
  for (std::size_t i = 0; i < loop.collected.size(); ++i) {
    collect(call, outputs[1 + loop.carried.size() + i], loop.collected[i]);
  }
  ++loop.round;
}

std::vector<RuntimeValue> loop(const ValueCall& call) {
  const std::int64_t rounds = call.has(0) ? call.integer(0) : INT64_MAX;
  LoopState state = first_state(call);
  while (state.goes_on && state.round < rounds) run_round(call, state);
  std::vector<RuntimeValue> results = std::move(state.carried);
  const std::size_t carried = results.size();
  for (std::size_t i = 0; i < state.collected.size(); ++i) {
    const ValueId slice = state.body.outputs()[1 + carried + i];
    results.emplace_back(state.round == 0 ? empty_stack(call, state.body.value(slice).type)
                                          : stacked(call, std::move(state.collected[i]), 0));
  }
  return results;
}

std::size_t mapped_length(const ValueCall& call) {
  const std::size_t length = call.sequence(0).size();
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    const auto* other = call.input(i).sequence();
    if (other != nullptr && other->size() != length)
      call.fail("input {} has {} elements, input 0 has {}", i, other->size(), length);
  }
  return length;
}

std::vector<RuntimeValue> sequence_map(const ValueCall& call) {
  const Graph& body = call.body("body");
  const std::size_t length = mapped_length(call);
  std::vector<RuntimeValue> results(body.outputs().size(), RuntimeValue::Sequence());
  for (std::size_t element = 0; element < length; ++element) {
    std::vector<RuntimeValue> inputs;
    for (const RuntimeValue& input : call.inputs) {
      const auto* sequence = input.sequence();
      inputs.push_back(sequence != nullptr ? (*sequence)[element] : input);
    }
    auto outputs = call.run_body(body, std::move(inputs));
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      results[i].sequence()->push_back(std::move(outputs[i]));
    }
  }
  return results;
}

}  // namespace

void add_control_flow_ops(ValueOpTable& table) {
  table["If"] = if_else;
  table["Loop"] = loop;
  table["SequenceMap"] = sequence_map;
}

}  // namespace assay::reference
