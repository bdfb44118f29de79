#include "infer/trip_count.h"

#include <algorithm>

#include "assay/error.h"
#include "kernels/kernel.h"

namespace assay::infer {

namespace {

constexpr std::int64_t kMostRounds = 1 << 16;
constexpr std::int64_t kWorkOfANode = 64;  // of the budget for folding
constexpr std::int64_t kMostElements = 64;

bool is_true(const Tensor& truth) {
  return truth.has_value() && truth.elements() == 1 && truth.to_int64().front() != 0;
}

// What the condition depends on, and the content of it.
class Condition {
 public:
  Condition(Inference& inference, const InferContext& context, const Graph& body)
      : inference_(inference),
        context_(context),
        body_(body),
        is_needed_(body.value_count(), false),
        values_(body.value_count()) {}

  // False: it depends on what is not known.
  bool find_what_it_needs() {
    std::vector<ValueId> open = {body_.outputs()[0]};
    while (!open.empty()) {
      const ValueId value = open.back();
      open.pop_back();
      if (!value.is_valid() || is_needed_[value.number]) continue;
      is_needed_[value.number] = true;
      if (!add_sources(value, open)) return false;
    }
    return true;
  }

  std::optional<std::int64_t> count_rounds() {
    const auto most = context_.integer(0);
    std::int64_t round = 0;
    bool goes_on = true;
    while (goes_on && (!most || round < *most)) {
      if (round == kMostRounds || !run_round(round)) return {};
      goes_on = is_true(values_[body_.outputs()[0].number]);
      hand_on();
      ++round;
    }
    return round;
  }

 private:
  bool know(ValueId value, const Tensor* content) {
    if (content == nullptr || content->elements() > kMostElements) return false;
    values_[value.number] = *content;
    return true;
  }

  bool add_sources(ValueId value, std::vector<ValueId>& open) {
    if (const Tensor* stored = body_.initializer(value)) return know(value, stored);
    const auto captures = body_.captures();
    const auto captured = std::ranges::find(captures, value, &Capture::inner);
    if (captured != captures.end()) return know(value, inference_.known_value(captured->outer));
    const auto inputs = body_.inputs();
    const auto input = std::ranges::find(inputs, value);
    if (input != inputs.end())
      return add_input(static_cast<std::size_t>(input - inputs.begin()), open);
    const NodeId maker = body_.producer(value);
    if (!maker.is_valid()) return false;
    const Node& node = body_.node(maker);
    if (!node.is_standard() || !kernels::works_in_proportion(node)) return false;
    open.insert(open.end(), node.inputs.begin(), node.inputs.end());
    return true;
  }

  // The round's number and the condition come by themselves; a carried value is followed.
  bool add_input(std::size_t i, std::vector<ValueId>& open) {
    if (i < 2) return true;
    open.push_back(body_.outputs()[i - 1]);
    return know(body_.inputs()[i], context_.known(i));
  }

  bool run_round(std::int64_t round) {
    const std::uint8_t yes = 1;
    values_[body_.inputs()[0].number] = Tensor::of_int64({}, {round});
    values_[body_.inputs()[1].number] =
        Tensor::of<std::uint8_t>(DataType::Bool, {}, std::span(&yes, 1));
    for (const Node& node : body_.nodes()) {
      if (is_part(node) && !evaluate(node)) return false;
    }
    return true;
  }

  bool is_part(const Node& node) const {
    return std::ranges::any_of(node.outputs,
                               [&](ValueId id) { return id.is_valid() && is_needed_[id.number]; });
  }

  bool evaluate(const Node& node) {
    inference_.limits().fold_budget -= kWorkOfANode;
    if (inference_.limits().fold_budget < 0) return false;
    std::vector<Tensor> inputs;
    for (const ValueId input : node.inputs)
      inputs.push_back(input.is_valid() ? values_[input.number] : Tensor());
    const auto outputs = kernels::evaluate(node, inputs, context_.opset());
    for (std::size_t i = 0; i < outputs.size() && i < node.outputs.size(); ++i) {
      if (outputs[i].elements() > kMostElements) return false;
      if (node.has_output(i)) values_[node.outputs[i].number] = outputs[i];
    }
    return true;
  }

  // Two carried values may change places: all are read before any is written.
  void hand_on() {
    std::vector<std::pair<ValueId, Tensor>> next;
    for (std::size_t i = 2; i < body_.inputs().size(); ++i) {
      const ValueId input = body_.inputs()[i];
      if (is_needed_[input.number])
        next.emplace_back(input, values_[body_.outputs()[i - 1].number]);
    }
    for (auto& [input, content] : next) values_[input.number] = std::move(content);
  }

  Inference& inference_;
  const InferContext& context_;
  const Graph& body_;
  std::vector<bool> is_needed_;  // by value of the body
  std::vector<Tensor> values_;
};

}  // namespace

std::optional<std::int64_t> trip_count(Inference& inference, const InferContext& context,
                                       const Graph& body) {
  if (context.has(1)) {
    if (context.known(1) == nullptr) return {};
    if (!is_true(*context.known(1))) return 0;
  }
  try {
    Condition condition(inference, context, body);
    if (!condition.find_what_it_needs()) return {};
    return condition.count_rounds();
  } catch (const Error&) {
    return {};  // what cannot be computed here is reported when it runs
  }
}

}  // namespace assay::infer
