// How often a Loop runs, where that follows from what is known before it starts.
#pragma once

#include <optional>

#include "infer/inference.h"

namespace assay::infer {

// Evaluates the part of the body that its condition depends on, round by round. Nothing where that
// part depends on data, or where the count is too large to find out this way.
std::optional<std::int64_t> trip_count(Inference& inference, const InferContext& context,
                                       const Graph& body);

}  // namespace assay::infer
