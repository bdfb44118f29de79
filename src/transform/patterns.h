// Queries on a graph for recognising patterns of ops.
#pragma once

#include <cmath>
#include <vector>

#include "transform/edit.h"

namespace assay::transform {

inline bool is_near(double number, double wanted) {
  return std::abs(number - wanted) <= 1e-3 * std::abs(wanted);
}

// The value made by a live standard node of this op, or null.
inline const Node* made_by(const GraphEdit& edit, ValueId value, std::string_view op) {
  const Node* maker = edit.maker(value);
  return maker != nullptr && maker->is(op) ? maker : nullptr;
}

// A node of two operands, one of which is a number: the other one.
struct WithNumber {
  ValueId value;
  double number = 0;
};
std::optional<WithNumber> with_number(const GraphEdit& edit, const Node& node);

// What a tree of Mul nodes multiplies: the numbers' product, and everything else. Inner products
// that somebody else reads too are factors of their own.
struct Product {
  double number = 1;
  std::vector<ValueId> factors;
  std::vector<NodeId> nodes;  // the Mul (and Div by a number) nodes of the tree
};
Product product_of(const GraphEdit& edit, ValueId value);

// Rewrites `last` into `replacement` and lets it take over the other nodes of the pattern that are
// no longer read.
void take_over(GraphEdit& edit, NodeId last, Node replacement, const std::vector<NodeId>& pattern);

}  // namespace assay::transform
