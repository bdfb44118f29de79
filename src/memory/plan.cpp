#include "assay/memory.h"

#include <algorithm>

#include "base/checked.h"
#include "base/fail.h"
#include "memory/arena.h"
#include "memory/liveness.h"

namespace assay {

using namespace assay::memory;

namespace {

// Deeper than any real model, and within the stack of a thread.
constexpr int kDeepestBody = 64;

void check_options(const MemoryOptions& options) {
  if (options.alignment < 1 || options.alignment > (std::int64_t{1} << 30)) {
    fail_usage("a memory alignment of {} bytes is not between 1 and 2^30", options.alignment);
  }
  if (options.stored_as && bits(*options.stored_as) == 0) {
    fail_usage("activations cannot be stored as {}", name(*options.stored_as));
  }
}

std::int64_t aligned(std::int64_t bytes, std::int64_t alignment) {
  return saturating_add(bytes, alignment - 1) / alignment * alignment;
}

// Filling an arena adds its capacity, at most the sum of all buffers, to that sum.
constexpr std::int64_t kMostBytes = std::int64_t{1} << 62;

// Rounds every buffer up to the alignment. If their sum does not overflow, no later sum does.
void align(const Graph& graph, std::vector<Buffer>& buffers, std::int64_t alignment) {
  std::int64_t total = 0;
  for (Buffer& buffer : buffers) {
    buffer.bytes = aligned(buffer.bytes, alignment);
    const auto sum = checked_add(total, buffer.bytes);
    if (!sum || *sum >= kMostBytes) {
      fail_bad_input("graph '{}': with '{}' its activations take more than 2^62 bytes", graph.name,
                     buffer.value.is_valid() ? graph.value(buffer.value).name : "a loop's body");
    }
    total = *sum;
  }
}

std::vector<Block> blocks_of(const std::vector<Buffer>& buffers) {
  std::vector<Block> blocks;
  blocks.reserve(buffers.size());
  for (const Buffer& buffer : buffers) {
    blocks.push_back({buffer.bytes, buffer.first_step, buffer.last_step});
  }
  return blocks;
}

void lay_out(MemoryPlan& plan, std::size_t steps, std::int64_t work_limit) {
  const auto blocks = blocks_of(plan.buffers);
  // A graph without nodes still holds what it passes on.
  plan.live_bytes = bytes_by_step(blocks, std::max<std::size_t>(steps, 1));
  plan.lower_bound_bytes = std::ranges::max(plan.live_bytes);
  const Packing packing = pack(blocks, plan.live_bytes, work_limit);
  for (std::size_t i = 0; i < blocks.size(); ++i) plan.buffers[i].offset = packing.offsets[i];
  plan.arena_bytes = packing.bytes;
  plan.live_bytes.resize(steps);
}

}  // namespace

MemoryPlan memory::plan_scope(const Scope& scope, const MemoryOptions& options) {
  if (scope.depth > kDeepestBody) {
    fail_bad_input("graph '{}': bodies of If, Loop or Scan are nested more than {} deep",
                   scope.graph.name, kDeepestBody);
  }
  Liveness liveness = find_liveness(scope, options);
  align(scope.graph, liveness.buffers, options.alignment);
  MemoryPlan plan;
  plan.buffers = std::move(liveness.buffers);
  plan.buffer_of = std::move(liveness.buffer_of);
  plan.unplanned = std::move(liveness.unplanned);
  plan.unplanned_bodies = std::move(liveness.unplanned_bodies);
  plan.folded_bytes = liveness.folded_bytes;
  // A model may hold thousands of bodies: only the whole is worth a long search.
  lay_out(plan, scope.graph.node_count(), scope.depth == 0 ? kThoroughSearch : kBriefSearch);
  return plan;
}

MemoryPlan plan_memory(const Inferred& model, const MemoryOptions& options) {
  check_options(options);
  return plan_scope({.graph = model.graph, .known = model.known}, options);
}

}  // namespace assay
