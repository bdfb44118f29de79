// What the lowerings of matrix products share, and a product as a step of a node that computes more
// than it.
#pragma once

#include "execute/cuda/lowering.h"
#include "execute/cuda/product_view.h"

namespace assay::cuda {

// alpha · sum + beta · C, as an expression of `sum`.
struct ScaledSum {
  std::string text = "sum";
  std::optional<Placement> added = {};  // read through "c"
};

// `type` is the sum's; `at` the coordinates of the result.
ScaledSum scaled_sum(Lowering& lowering, const Node& node, const std::string& type,
                     std::span<const std::string> at);

// result = a · b; all three are [batch, rows, columns], the result without gaps.
void add_product_step(Lowering& lowering, NodeId id, const Placement& a, const Placement& b,
                      const Placement& result);

}  // namespace assay::cuda
