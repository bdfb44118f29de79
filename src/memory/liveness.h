// Lifetimes: gives every activation of a graph a buffer, shared where ops allow it, and every
// buffer the steps for which it is needed.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/memory.h"

namespace assay::memory {

// A graph to plan: the model's own, or a body inside it.
struct Scope {
  const Graph& graph;
  std::span<const Tensor> known = {};        // by value, as in Inferred; may be empty
  std::vector<bool> constant_captures = {};  // for each capture: is the outer value constant
  int depth = 0;                             // bodies around this one
};

struct Liveness {
  std::vector<Buffer> buffers;  // bytes as the tensors need them, offsets still open
  std::vector<std::uint32_t> buffer_of;
  std::vector<ValueId> unplanned;
  std::vector<NodeId> unplanned_bodies;
  std::int64_t folded_bytes = 0;
};

Liveness find_liveness(const Scope& scope, const MemoryOptions& options);

// Liveness and arena of one scope; `find_liveness` calls it for the bodies it meets.
MemoryPlan plan_scope(const Scope& scope, const MemoryOptions& options);

}  // namespace assay::memory
