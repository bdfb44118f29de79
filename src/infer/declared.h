// The shapes that a file declares for intermediate values, adapted to the bound inputs.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "assay/graph.h"

namespace assay::infer {

inline constexpr int kDeepestSubgraph = 64;

// Replaces every symbol that has a number.
void substitute_symbols(Shape& shape, const std::map<std::string, std::int64_t>& symbols);

// Substitutes in all declared shapes, those of subgraphs included. With `forget` all shapes but
// those of inputs and initializers are dropped: they were computed for other inputs.
void settle_declared_shapes(Graph& graph, const std::map<std::string, std::int64_t>& symbols,
                            bool forget);

}  // namespace assay::infer
