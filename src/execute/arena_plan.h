// Which steps each buffer of a program is needed for, and where it lies in the arena.
#pragma once

#include <span>
#include <vector>

#include "assay/program.h"
#include "execute/buffers.h"
#include "memory/arena.h"

namespace assay::execute {

struct ArenaPlan {
  static constexpr std::int64_t kNowhere = -1;

  std::vector<std::int64_t> offsets;   // by buffer; kNowhere: a weight, or never touched
  std::vector<ProgramBuffer> buffers;  // those of the arena
  std::int64_t bytes = 0;
  std::int64_t workspace_bytes = 0;  // at the step that uses most
};

class ArenaPlanner {
 public:
  // Every buffer begins at a multiple of `alignment`, with `gap` unused bytes after each.
  ArenaPlanner(const Buffers& buffers, std::size_t steps, std::int64_t alignment,
               std::int64_t gap = 0);

  void touch(BufferId id, std::size_t step);
  void touch_all(std::span<const BufferId> ids, std::size_t step);
  // Inputs stay for the next run, outputs until they are read.
  void keep(BufferId id);

  ArenaPlan plan() const;

 private:
  const std::vector<BufferInfo>& buffers_;
  std::size_t steps_ = 0;
  std::int64_t alignment_ = 1;
  std::int64_t gap_ = 0;
  std::vector<memory::Block> blocks_;
  std::vector<std::uint32_t> block_of_;  // by buffer; kNone: outside the arena so far
};

}  // namespace assay::execute
