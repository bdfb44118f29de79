// Layer norm written out in small ops, as exporters before opset 17 do:
// d = x - mean(x); d / sqrt(mean(d²) + ε) · γ + β over the last axis.
#include "transform/patterns.h"
#include "transform/simplify.h"

namespace assay::transform {

namespace {

struct NormMatch {
  ValueId x;
  double epsilon = 0;
  std::vector<NodeId> nodes;
};

bool is_over_last_axis(const GraphEdit& edit, const Node& mean) {
  const ValueType& type = edit.type(mean.inputs[0]);
  if (!type.shape || mean.int_or("keepdims", 1) != 1) return false;
  std::vector<std::int64_t> axes = mean.ints_or("axes", {});
  if (mean.has_input(1)) {
    const Tensor* given = edit.constant(mean.inputs[1]);
    if (given == nullptr) return false;
    axes = given->to_int64();
  }
  const auto last = static_cast<std::int64_t>(type.shape->rank()) - 1;
  return axes.size() == 1 && (axes[0] == -1 || axes[0] == last);
}

const Node* mean_over_last_axis(const GraphEdit& edit, ValueId value) {
  const Node* mean = made_by(edit, value, "ReduceMean");
  return mean != nullptr && is_over_last_axis(edit, *mean) ? mean : nullptr;
}

// x, if the value is x - mean(x).
std::optional<ValueId> centred(const GraphEdit& edit, ValueId value, NormMatch& match) {
  const Node* difference = made_by(edit, value, "Sub");
  if (difference == nullptr) return {};
  const Node* mean = mean_over_last_axis(edit, difference->inputs[1]);
  if (mean == nullptr || mean->inputs[0] != difference->inputs[0]) return {};
  match.nodes.push_back(edit.maker_id(value));
  match.nodes.push_back(edit.maker_id(difference->inputs[1]));
  return difference->inputs[0];
}

// d, if the value is d².
std::optional<ValueId> squared(const GraphEdit& edit, ValueId value, NormMatch& match) {
  match.nodes.push_back(edit.maker_id(value));
  if (const Node* power = made_by(edit, value, "Pow")) {
    if (edit.number(power->inputs[1]).value_or(0) == 2.0) return power->inputs[0];
  }
  if (const Node* product = made_by(edit, value, "Mul")) {
    if (product->inputs[0] == product->inputs[1]) return product->inputs[0];
  }
  return {};
}

// The square root of mean(d²) + ε, of the same x.
bool is_deviation(const GraphEdit& edit, ValueId value, NormMatch& match) {
  const Node* root = made_by(edit, value, "Sqrt");
  const Node* sum = root != nullptr ? made_by(edit, root->inputs[0], "Add") : nullptr;
  const auto operand = sum != nullptr ? with_number(edit, *sum) : std::nullopt;
  const Node* mean = operand ? mean_over_last_axis(edit, operand->value) : nullptr;
  if (mean == nullptr) return false;
  match.epsilon = operand->number;
  match.nodes.insert(match.nodes.end(), {edit.maker_id(value), edit.maker_id(root->inputs[0]),
                                         edit.maker_id(operand->value)});
  const auto difference = squared(edit, mean->inputs[0], match);
  return difference && centred(edit, *difference, match) == match.x;
}

std::optional<NormMatch> norm_at(const GraphEdit& edit, NodeId id) {
  const Node& quotient = edit.node(id);
  NormMatch match;
  match.nodes.push_back(id);
  const auto x = centred(edit, quotient.inputs[0], match);
  if (!x || edit.type(*x).element != DataType::Float32) return {};
  match.x = *x;
  if (!is_deviation(edit, quotient.inputs[1], match)) return {};
  return match;
}

// The one reader of `value`, if it is `op` with a constant vector as long as the last axis.
struct VectorStep {
  NodeId node;
  ValueId vector;
};
std::optional<VectorStep> vector_step(const GraphEdit& edit, ValueId value, std::string_view op,
                                      std::int64_t width) {
  const NodeId reader = edit.only_reader(value);
  if (!reader.is_valid() || !edit.node(reader).is(op)) return {};
  const Node& node = edit.node(reader);
  const ValueId vector = node.inputs[node.inputs[0] == value ? 1 : 0];
  const Tensor* content = edit.constant(vector);
  if (content == nullptr || content->dims() != std::vector{width}) return {};
  return {{reader, vector}};
}

void recognise_at(GraphEdit& edit, NodeId id) {
  const auto match = norm_at(edit, id);
  if (!match) return;
  const Shape& shape = *edit.type(match->x).shape;
  const Dim& last = shape[shape.rank() - 1];
  if (!last.is_known()) return;
  const auto scale = vector_step(edit, edit.node(id).outputs[0], "Mul", last.value());
  if (!scale) return;
  const auto shift = vector_step(edit, edit.node(scale->node).outputs[0], "Add", last.value());
  const NodeId end = shift ? shift->node : scale->node;
  Node norm{
      .name = edit.node(end).name,
      .op = "LayerNormalization",
      .domain = "",
      .inputs = {match->x, scale->vector},
      .outputs = edit.node(end).outputs,
      .attributes = {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<float>(match->epsilon)}}};
  if (shift) norm.inputs.push_back(shift->vector);
  std::vector<NodeId> nodes = match->nodes;
  nodes.push_back(scale->node);
  take_over(edit, end, std::move(norm), nodes);
}

}  // namespace

void recognise_layer_norms(GraphEdit& edit) {
  for (std::uint32_t i = 0; i < edit.node_count(); ++i) {
    const NodeId id{i};
    if (edit.is_alive(id) && edit.node(id).is("Div")) recognise_at(edit, id);
  }
}

}  // namespace assay::transform
