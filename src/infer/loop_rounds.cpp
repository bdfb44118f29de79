#include "infer/loop_rounds.h"

#include <algorithm>

#include "assay/error.h"
#include "infer/inference.h"
#include "kernels/kernel.h"

namespace assay::infer {

namespace {

constexpr std::int64_t kMostElements = 64;  // of a value that decides

class StopCondition {
 public:
  StopCondition(const LoopStart& start, std::int64_t& budget)
      : start_(start),
        body_(start.body),
        budget_(budget),
        is_needed_(body_.node_count()),
        is_carried_(start.carried.size()),
        values_(body_.value_count()) {}

  // False if the condition depends on what is not known.
  bool find_what_it_needs() {
    std::vector<ValueId> open = {body_.outputs()[0]};
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      if (!need(value, open)) return false;
    }
    return true;
  }

  std::optional<std::int64_t> rounds() {
    for (std::size_t i = 0; i < is_carried_.size(); ++i) {
      if (is_carried_[i] && !keep(carried_input(i), *start_.carried[i])) return {};
    }
    std::int64_t round = 0;
    for (bool goes_on = true; goes_on; ++round) {
      if (start_.most && round >= *start_.most) return round;
      if (!run(round)) return {};
      goes_on = content(body_.outputs()[0]).to_int64().front() != 0;
      if (!carry_over()) return {};
    }
    return round;
  }

 private:
  ValueId carried_input(std::size_t i) const { return body_.inputs()[2 + i]; }

  bool need(ValueId value, std::vector<ValueId>& open) {
    if (start_.known(value) != nullptr) return true;
    const auto inputs = body_.inputs();
    if (value == inputs[0] || value == inputs[1]) return true;
    for (std::size_t i = 0; i < is_carried_.size(); ++i) {
      if (value == carried_input(i)) return need_carried(i, open);
    }
    return need_node(body_.producer(value), open);
  }

  bool need_carried(std::size_t i, std::vector<ValueId>& open) {
    if (start_.carried[i] == nullptr) return false;
    if (!is_carried_[i]) open.push_back(body_.outputs()[1 + i]);
    is_carried_[i] = true;
    return true;
  }

  bool need_node(NodeId id, std::vector<ValueId>& open) {
    if (!id.is_valid() || !can_run(body_.node(id))) return false;
    if (is_needed_[id.number]) return true;
    is_needed_[id.number] = true;
    if (reads_a_shape(body_.node(id))) return true;
    for (const ValueId input : body_.node(id).inputs) {
      if (input.is_valid()) open.push_back(input);
    }
    return true;
  }

  static bool reads_a_shape(const Node& node) { return node.is("Shape") || node.is("Size"); }

  bool can_run(const Node& node) const {
    if (reads_a_shape(node)) return body_.value(node.inputs[0]).type.has_known_shape();
    for (const ValueId output : node.outputs) {
      if (!output.is_valid()) continue;
      const ValueType& type = body_.value(output).type;
      const auto elements = type.shape ? type.shape->elements() : std::nullopt;
      if (!elements || *elements > kMostElements) return false;
    }
    return kernels::works_in_proportion(node);
  }

  const Tensor& content(ValueId value) const {
    const Tensor* same = start_.known(value);
    return same != nullptr ? *same : values_[value.number];
  }

  // False if the content is not what inference promised: nothing may rely on it.
  bool keep(ValueId value, Tensor tensor) {
    const ValueType& promised = body_.value(value).type;
    if (promised.element != tensor.type() || promised.shape != tensor.shape()) return false;
    values_[value.number] = std::move(tensor);
    return true;
  }

  bool run(std::int64_t round) {
    const std::uint8_t yes = 1;
    values_[body_.inputs()[0].number] = Tensor::of_int64({}, {round});
    values_[body_.inputs()[1].number] =
        Tensor::of<std::uint8_t>(DataType::Bool, {}, std::span(&yes, 1));
    for (std::uint32_t i = 0; i < body_.node_count(); ++i) {
      if (!is_needed_[i]) continue;
      budget_ -= kMostElements;
      if (budget_ < 0 || !evaluate(body_.node(NodeId{i}))) return false;
    }
    return content(body_.outputs()[0]).elements() == 1;
  }

  bool evaluate(const Node& node) {
    if (reads_a_shape(node)) {
      const auto shape = folded_shape(node, *body_.value(node.inputs[0]).type.shape);
      return shape && keep(node.outputs[0], *shape);
    }
    std::vector<Tensor> inputs;
    for (const ValueId input : node.inputs) {
      inputs.push_back(input.is_valid() ? content(input) : Tensor());
    }
    const auto outputs = kernels::evaluate(node, inputs, body_.opset(node.domain));
    for (std::size_t i = 0; i < outputs.size() && i < node.outputs.size(); ++i) {
      if (node.has_output(i) && !keep(node.outputs[i], outputs[i])) return false;
    }
    return true;
  }

  bool carry_over() {
    std::vector<std::pair<ValueId, Tensor>> next;
    for (std::size_t i = 0; i < is_carried_.size(); ++i) {
      if (is_carried_[i]) next.emplace_back(carried_input(i), content(body_.outputs()[1 + i]));
    }
    return std::ranges::all_of(next,
                               [&](auto& one) { return keep(one.first, std::move(one.second)); });
  }

  const LoopStart& start_;
  const Graph& body_;
  std::int64_t& budget_;
  std::vector<bool> is_needed_;   // by node
  std::vector<bool> is_carried_;  // by carried value: the condition depends on it
  std::vector<Tensor> values_;    // by value, of this round
};

}  // namespace

std::optional<std::int64_t> loop_rounds(const LoopStart& start, std::int64_t& budget) {
  const bool fits = start.body.inputs().size() == 2 + start.carried.size() &&
                    start.body.outputs().size() >= 1 + start.carried.size();
  if (!fits) return {};
  StopCondition condition(start, budget);
  if (!condition.find_what_it_needs()) return {};
  try {
    return condition.rounds();
  } catch (const Error&) {
    return {};  // a node of the body cannot be evaluated: running the model says why
  }
}

}  // namespace assay::infer
