// Where activations are stored: their lifetimes, which of them share bytes, and the arena that
// holds them.
//
// The schedule is the graph's node order. A view (Reshape, Flatten, Squeeze, Identity, …) shares
// the bytes of its input; an element-wise op may write over an input that nothing reads after it,
// unless that input is the caller's. Whatever is computed from constants alone is a constant: it is
// computed once, before the first run, and is not part of the arena. The body of an If, Loop or
// Scan has an arena of its own, in use while its node runs. The planned arena is what an executor
// allocates, to the byte.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "assay/infer.h"

namespace assay {

struct MemoryOptions {
  std::int64_t alignment = 64;
  // Counts floating activations as if stored with this type.
  std::optional<DataType> stored_as = {};
};

// A block of the arena, live from the step that first writes it to the last that reads it. Graph
// inputs are live from step 0, graph outputs to the end.
struct Buffer {
  ValueId value;           // the first value that lives in it; invalid: the arena of a node's body
  std::int64_t bytes = 0;  // a multiple of the alignment, as the offset is
  std::int64_t offset = 0;
  std::size_t first_step = 0;
  std::size_t last_step = 0;
};

struct MemoryPlan {
  static constexpr std::uint32_t kNoBuffer = 0xffffffffu;

  std::vector<Buffer> buffers;
  std::vector<std::uint32_t>
      buffer_of;  // by value; kNoBuffer: a constant, or its size is not known
  std::vector<std::int64_t> live_bytes;  // by step (one per node): bytes alive while it runs
  std::int64_t lower_bound_bytes = 0;    // the largest of live_bytes: no plan can do with less
  std::int64_t arena_bytes = 0;          // what this plan takes
  std::vector<ValueId> unplanned;        // activations whose size is not known
  std::vector<NodeId> unplanned_bodies;  // nodes with a body in which a size is not known
  std::int64_t folded_bytes = 0;         // of constants computed from constants, outside the arena
};

// Throws an Error if the activations together would take 2⁶² bytes or more.
MemoryPlan plan_memory(const Inferred& model, const MemoryOptions& options = {});

}  // namespace assay
