#include "transform/patterns.h"

#include <algorithm>

namespace assay::transform {

std::optional<WithNumber> with_number(const GraphEdit& edit, const Node& node) {
  if (!node.has_input(0) || !node.has_input(1)) return {};
  if (const auto number = edit.number(node.inputs[1])) return {{node.inputs[0], *number}};
  if (const auto number = edit.number(node.inputs[0])) return {{node.inputs[1], *number}};
  return {};
}

namespace {

// Deeper than the expression of any real activation.
constexpr int kDeepestProduct = 8;

bool is_quotient_by_number(const GraphEdit& edit, const Node& node) {
  return node.is("Div") && node.has_input(1) && edit.number(node.inputs[1]).value_or(0) != 0;
}

void collect(const GraphEdit& edit, ValueId value, bool is_root, int depth, Product& product) {
  if (const auto number = edit.number(value)) {
    product.number *= *number;
    return;
  }
  const Node* maker = edit.maker(value);
  const bool is_shared = !is_root && edit.readers(value) > 1;
  if (maker == nullptr || is_shared || depth > kDeepestProduct ||
      (!maker->is("Mul") && !is_quotient_by_number(edit, *maker))) {
    product.factors.push_back(value);
    return;
  }
  product.nodes.push_back(edit.maker_id(value));
  collect(edit, maker->inputs[0], false, depth + 1, product);
  if (maker->is("Mul")) {
    collect(edit, maker->inputs[1], false, depth + 1, product);
  } else {
    product.number /= *edit.number(maker->inputs[1]);
  }
}

bool is_unread(const GraphEdit& edit, NodeId id) {
  return std::ranges::all_of(edit.node(id).outputs, [&](ValueId output) {
    return !output.is_valid() || edit.readers(output) == 0;
  });
}

}  // namespace

Product product_of(const GraphEdit& edit, ValueId value) {
  Product product;
  collect(edit, value, true, 0, product);
  return product;
}

void take_over(GraphEdit& edit, NodeId last, Node replacement, const std::vector<NodeId>& pattern) {
  edit.set_node(last, std::move(replacement));
  std::vector<NodeId> others = pattern;
  std::ranges::sort(others, std::greater<>());
  others.erase(std::ranges::unique(others).begin(), others.end());
  for (const NodeId id : others) {
    if (id != last && edit.is_alive(id) && is_unread(edit, id)) edit.absorb(id, last);
  }
}

}  // namespace assay::transform
