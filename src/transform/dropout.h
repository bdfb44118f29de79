// Dropout in training: exported models have it switched off.
#pragma once

#include <cstdint>

#include "assay/graph.h"

namespace assay::transform {

// Replaces every Dropout of the graph that has a ratio above 0 by assay's own, which drops other
// elements in every step. `step` is a value of one int64 number; each op gets a seed of its own
// from `seed`. A ratio that is not a constant is refused.
void turn_dropouts_on(Graph& graph, ValueId step, std::uint64_t seed);

}  // namespace assay::transform
