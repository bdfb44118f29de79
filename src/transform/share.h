// Passes that find what a graph has twice.
#pragma once

#include "transform/edit.h"

namespace assay::transform {

// Equal ops on equal inputs with equal attributes: the first one's results are read instead.
// Returns how many nodes were removed.
std::int64_t merge_common_subexpressions(GraphEdit& edit);

// Stored tensors of equal type, dimensions and content: the first one is read instead. Returns how
// many are no longer read. Tensors of fewer elements stay.
std::int64_t share_equal_weights(GraphEdit& edit, std::int64_t smallest = 0);

}  // namespace assay::transform
