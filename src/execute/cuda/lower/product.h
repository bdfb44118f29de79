// What the lowerings of matrix products share.
#pragma once

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

}  // namespace assay::cuda
