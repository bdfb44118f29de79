#include "cost/trips.h"

#include <algorithm>

#include "infer/loop_rounds.h"

namespace assay::cost {

namespace {

std::optional<bool> truth(const Tensor* content) {
  if (content == nullptr || content->elements() != 1) return std::nullopt;
  return content->to_int64().front() != 0;
}

// What the body returns as the condition of the next round: known content, or the condition it was
// given itself (then the one that let it in, which is true). Identity and Cast change nothing.
std::optional<bool> next_condition(const GraphScope& body) {
  if (body.graph.outputs().empty()) return std::nullopt;
  ValueId value = body.graph.outputs()[0];
  constexpr int kMostSteps = 16;
  for (int step = 0; step < kMostSteps; ++step) {
    if (const auto known = truth(body.known(value))) return known;
    const bool is_given = body.graph.inputs().size() > 1 && value == body.graph.inputs()[1];
    if (is_given) return true;
    const NodeId producer = body.graph.producer(value);
    if (!producer.is_valid()) return std::nullopt;
    const Node& node = body.graph.node(producer);
    if ((!node.is("Identity") && !node.is("Cast")) || !node.has_input(0)) return std::nullopt;
    value = node.inputs[0];
  }
  return std::nullopt;
}

// The body runs only as far as its condition needs.
std::optional<std::int64_t> counted_rounds(const OpView& loop, const GraphScope& body,
                                           const std::optional<std::int64_t>& most) {
  infer::LoopStart start{.body = body.graph, .most = most};
  for (std::size_t i = 2; i < loop.node().inputs.size(); ++i) {
    start.carried.push_back(loop.known_input(i));
  }
  start.known = [&](ValueId value) { return body.known(value); };
  std::int64_t budget = std::int64_t{1} << 24;
  return infer::loop_rounds(start, budget);
}

}  // namespace

std::optional<std::int64_t> loop_trips(const OpView& loop, const GraphScope& scope) {
  const auto* attribute = loop.node().get<GraphPtr>("body");
  if (attribute == nullptr) return std::nullopt;
  const auto enters = loop.has_input(1) ? truth(loop.known_input(1)) : std::optional(true);
  if (enters == false) return 0;
  const Tensor* count = loop.known_input(0);
  const bool is_limit_known = !loop.has_input(0) || (count != nullptr && count->elements() == 1);
  if (!enters || !is_limit_known) return std::nullopt;
  std::optional<std::int64_t> most;
  if (count != nullptr) most = std::max<std::int64_t>(0, count->to_int64().front());
  const GraphScope body{.graph = **attribute, .around = &scope};
  const auto goes_on = next_condition(body);
  if (!goes_on) return counted_rounds(loop, body, most);
  return *goes_on ? most : std::min<std::int64_t>(1, most.value_or(1));
}

std::optional<std::int64_t> scan_trips(const OpView& op) {
  const std::int64_t scanned = op.node().int_or("num_scan_inputs", 0);
  const auto inputs = static_cast<std::int64_t>(op.node().inputs.size());
  if (scanned < 1 || scanned > inputs) return std::nullopt;
  const auto first = static_cast<std::size_t>(inputs - scanned);
  const ValueType& type = op.graph().value(op.node().inputs[first]).type;
  const auto axes = op.node().ints_or("scan_input_axes", {});
  if (!type.has_known_shape() || type.shape->rank() == 0) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(type.shape->rank());
  std::int64_t axis = axes.empty() ? 0 : axes.front();
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return std::nullopt;
  return (*type.shape)[static_cast<std::size_t>(axis)].value();
}

}  // namespace assay::cost
