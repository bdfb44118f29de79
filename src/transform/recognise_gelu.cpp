// GELU written out in small ops: x/2 · (1 + erf(x/√2)), or with tanh(√(2/π)·(x + 0.044715·x³)) in
// place of erf, factors in any order and grouping.
#include <algorithm>

#include "transform/patterns.h"
#include "transform/simplify.h"

namespace assay::transform {

namespace {

struct GeluMatch {
  ValueId x;
  std::string approximate;
  std::vector<NodeId> nodes;
};

void append(std::vector<NodeId>& to, const std::vector<NodeId>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

bool is_erf_argument(const GraphEdit& edit, ValueId value, ValueId x, GeluMatch& match) {
  const Product product = product_of(edit, value);
  append(match.nodes, product.nodes);
  return product.factors == std::vector{x} && is_near(product.number, 0.70710678);
}

bool is_cube(const GraphEdit& edit, const std::vector<ValueId>& factors, ValueId x,
             GeluMatch& match) {
  if (factors == std::vector{x, x, x}) return true;
  if (factors.size() != 1) return false;
  const Node* power = made_by(edit, factors[0], "Pow");
  if (power == nullptr) return false;
  match.nodes.push_back(edit.maker_id(factors[0]));
  return power->inputs[0] == x && is_near(edit.number(power->inputs[1]).value_or(0), 3.0);
}

bool is_tanh_argument(const GraphEdit& edit, ValueId value, ValueId x, GeluMatch& match) {
  const Product outer = product_of(edit, value);
  append(match.nodes, outer.nodes);
  if (outer.factors.size() != 1 || !is_near(outer.number, 0.79788456)) return false;
  const Node* sum = made_by(edit, outer.factors[0], "Add");
  if (sum == nullptr) return false;
  match.nodes.push_back(edit.maker_id(outer.factors[0]));
  const bool x_first = sum->inputs[0] == x;
  if (!x_first && sum->inputs[1] != x) return false;
  const Product cubic = product_of(edit, sum->inputs[x_first ? 1 : 0]);
  append(match.nodes, cubic.nodes);
  return is_near(cubic.number, 0.044715) && is_cube(edit, cubic.factors, x, match);
}

// 1 + erf(…) or 1 + tanh(…)
bool is_gate(const GraphEdit& edit, ValueId value, ValueId x, GeluMatch& match) {
  const Node* sum = made_by(edit, value, "Add");
  if (sum == nullptr) return false;
  const auto operand = with_number(edit, *sum);
  if (!operand || !is_near(operand->number, 1.0)) return false;
  const Node* curve = edit.maker(operand->value);
  if (curve == nullptr || edit.readers(operand->value) != 1) return false;
  match.nodes.push_back(edit.maker_id(value));
  match.nodes.push_back(edit.maker_id(operand->value));
  match.approximate = curve->is("Tanh") ? "tanh" : "none";
  if (curve->is("Erf")) return is_erf_argument(edit, curve->inputs[0], x, match);
  return curve->is("Tanh") && is_tanh_argument(edit, curve->inputs[0], x, match);
}

std::optional<GeluMatch> gelu_at(const GraphEdit& edit, NodeId id) {
  const Product product = product_of(edit, edit.node(id).outputs[0]);
  if (product.factors.size() != 2 || !is_near(product.number, 0.5)) return {};
  for (const std::size_t gate : {0u, 1u}) {
    GeluMatch match{product.factors[1 - gate], "", product.nodes};
    if (is_gate(edit, product.factors[gate], match.x, match)) return match;
  }
  return {};
}

bool has_shape_of(const GraphEdit& edit, ValueId a, ValueId b) {
  return edit.type(a) == edit.type(b);
}

}  // namespace

// Backwards, so that a product is met at its last factor.
void recognise_gelus(GraphEdit& edit) {
  for (std::uint32_t i = static_cast<std::uint32_t>(edit.node_count()); i-- > 0;) {
    const NodeId id{i};
    if (!edit.is_alive(id) || !edit.node(id).is("Mul")) continue;
    const auto match = gelu_at(edit, id);
    if (!match || !has_shape_of(edit, match->x, edit.node(id).outputs[0])) continue;
    Node gelu{.name = edit.node(id).name,
              .op = "Gelu",
              .domain = "",
              .inputs = {match->x},
              .outputs = edit.node(id).outputs,
              .attributes = {{"approximate", match->approximate}}};
    take_over(edit, id, std::move(gelu), match->nodes);
  }
}

}  // namespace assay::transform
