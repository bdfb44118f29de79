#include "execute/arena_plan.h"

#include <algorithm>

namespace assay::execute {

namespace {

// At least one.
std::int64_t whole_units(std::int64_t bytes, std::int64_t unit) {
  return std::max<std::int64_t>((bytes + unit - 1) / unit, 1) * unit;
}

std::int64_t most_workspace(const std::vector<ProgramBuffer>& buffers, std::size_t steps) {
  std::vector<memory::Block> blocks;
  for (const ProgramBuffer& buffer : buffers) {
    if (!buffer.value.is_valid())
      blocks.push_back({buffer.bytes, buffer.first_step, buffer.last_step});
  }
  return blocks.empty() ? 0 : std::ranges::max(memory::bytes_by_step(blocks, steps));
}

}  // namespace

ArenaPlanner::ArenaPlanner(const Buffers& buffers, std::size_t steps, std::int64_t alignment,
                           std::int64_t gap)
    : buffers_(buffers.all()),
      steps_(std::max<std::size_t>(steps, 1)),
      alignment_(alignment),
      gap_(gap),
      block_of_(buffers.all().size(), BufferId::kNone) {}

void ArenaPlanner::touch(BufferId id, std::size_t step) {
  if (!id.is_valid() || buffers_[id.number].fixed != nullptr) return;
  std::uint32_t& block = block_of_[id.number];
  if (block == BufferId::kNone) {
    block = static_cast<std::uint32_t>(blocks_.size());
    blocks_.push_back({whole_units(buffers_[id.number].bytes, alignment_) + gap_, step, step});
  }
  memory::Block& found = blocks_[block];
  found.first = std::min(found.first, step);
  found.last = std::max(found.last, step);
}

void ArenaPlanner::touch_all(std::span<const BufferId> ids, std::size_t step) {
  for (const BufferId id : ids) touch(id, step);
}

void ArenaPlanner::keep(BufferId id) {
  touch(id, 0);
  touch(id, steps_ - 1);
}

ArenaPlan ArenaPlanner::plan() const {
  const auto by_step = memory::bytes_by_step(blocks_, steps_);
  const memory::Packing packing = memory::pack(blocks_, by_step);
  ArenaPlan plan{.offsets = std::vector(buffers_.size(), ArenaPlan::kNowhere),
                 .buffers = {},
                 .bytes = packing.bytes};
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const std::uint32_t block = block_of_[i];
    if (block == BufferId::kNone) continue;
    plan.offsets[i] = packing.offsets[block];
    const auto& values = buffers_[i].values;
    plan.buffers.push_back({.value = values.empty() ? ValueId{} : values.front(),
                            .bytes = blocks_[block].bytes,
                            .offset = packing.offsets[block],
                            .first_step = blocks_[block].first,
                            .last_step = blocks_[block].last});
  }
  plan.workspace_bytes = most_workspace(plan.buffers, steps_);
  return plan;
}

}  // namespace assay::execute
