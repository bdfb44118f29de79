#include "execute/cuda/recurrent_view.h"

#include <fmt/core.h>

#include <algorithm>

#include "execute/cuda/kernel_text.h"

namespace assay::cuda {

namespace {

std::vector<std::string> standard_activations(const std::string& op) {
  if (op == "LSTM") return {"Sigmoid", "Tanh", "Tanh"};
  if (op == "GRU") return {"Sigmoid", "Tanh"};
  return {"Tanh"};
}

std::string in_direction(const RecurrentView& view, std::size_t function, const std::string& x,
                         std::string (ActivationText::*text)(const std::string&, const std::string&)
                             const) {
  const std::string forward = (view.activations[function].*text)(x, view.type);
  if (view.directions == 1) return forward;
  const std::size_t second = view.activations.size() / 2 + function;
  return fmt::format("(d == 0 ? {} : {})", forward, (view.activations[second].*text)(x, view.type));
}

}  // namespace

std::int64_t RecurrentView::samples() const {
  constexpr std::int64_t kMost = 4;
  return std::min(batch, kMost);
}

std::string RecurrentView::reversed_text() const {
  return directions == 2 ? "d == 1" : is_reverse ? "true" : "false";
}

std::string RecurrentView::activated(std::size_t function, const std::string& x) const {
  std::string bounded = x;
  if (clip > 0)
    bounded = fmt::format("limited(({0})({1}), {2}, {3})", type, x, number_text(-clip, type),
                          number_text(clip, type));
  return in_direction(*this, function, bounded, &ActivationText::of);
}

std::string RecurrentView::slope(std::size_t function, const std::string& x) const {
  const std::string inside = in_direction(*this, function, x, &ActivationText::slope);
  if (clip == 0) return inside;
  return fmt::format("(fabs({}) > {} ? 0 : {})", x, number_text(clip, type), inside);
}

std::string RecurrentView::own(const std::string& name) const {
  return fmt::format("{}[(d * {} + b) * {} + u]", name, batch, hidden);
}

std::string RecurrentView::position(const std::string& step) const {
  return fmt::format("({0} && {1} < length ? length - 1 - {1} : {1})", reversed_text(), step);
}

void swap_axes(Placement& placement, std::size_t a, std::size_t b) {
  std::swap(placement.dims[a], placement.dims[b]);
  std::swap(placement.strides[a], placement.strides[b]);
}

std::optional<RecurrentView> recurrent_view_of(Lowering& lowering, const Node& node,
                                               const std::string& op) {
  const auto activations = recurrent_activations(node, standard_activations(op));
  if (!activations || !node.has_input(2)) return {};
  RecurrentView view;
  view.op = op;
  view.gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
  const std::string direction = node.string_or("direction", "forward");
  view.is_reverse = direction == "reverse";
  view.directions = direction == "bidirectional" ? 2 : 1;
  view.is_batch_first = node.int_or("layout", 0) != 0;
  view.resets_before = op == "GRU" && node.int_or("linear_before_reset", 0) == 0;
  view.is_coupled = node.int_or("input_forget", 0) != 0;
  view.clip = std::max(0.0, static_cast<double>(node.float_or("clip", 0)));
  view.activations = *activations;
  view.input = lowering.native(node.inputs[0]);
  view.weight = lowering.native(node.inputs[1]);
  view.recurrence = lowering.native(node.inputs[2]);
  for (const Placement* operand : {&view.input, &view.weight, &view.recurrence})
    if (operand->dims.size() != 3 || operand->elements() == 0 || !is_floating(operand->type))
      return {};
  if (view.is_batch_first) swap_axes(view.input, 0, 1);
  view.steps = view.input.dims[0];
  view.batch = view.input.dims[1];
  view.features = view.input.dims[2];
  view.hidden = view.recurrence.dims[2];
  view.type = computed_type(view.input.type);
  const bool fits = view.weight.dims == Dims{view.directions, view.rows(), view.features} &&
                    view.recurrence.dims == Dims{view.directions, view.rows(), view.hidden};
  return fits ? std::optional(view) : std::nullopt;
}

NodeId recurrent_gradient_of(const Lowering& lowering, const Node& node) {
  const std::string name = node.is("LSTM")  ? "LstmGradient"
                           : node.is("GRU") ? "GruGradient"
                                            : "RnnGradient";
  const std::size_t own = node.is("LSTM") ? 8 : 6;
  const auto fits = [&](const Node& gradient) {
    if (gradient.op != name || gradient.attributes != node.attributes) return false;
    for (std::size_t i = 0; i < own; ++i) {
      if (gradient.has_input(i) != node.has_input(i)) return false;
      if (node.has_input(i) && gradient.inputs[i] != node.inputs[i]) return false;
    }
    return true;
  };
  const auto& readers = lowering.readers(node.inputs[2]);
  const auto found =
      std::ranges::find_if(readers, [&](NodeId id) { return fits(lowering.node(id)); });
  return found == readers.end() ? NodeId{} : *found;
}

}  // namespace assay::cuda
