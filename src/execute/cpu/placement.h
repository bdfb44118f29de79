// Where a value lives while a program runs: a buffer, and the layout of its elements in it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "assay/graph.h"
#include "execute/buffers.h"
#include "execute/cpu/onednn/adapter.h"

namespace assay::cpu {

using execute::BufferId;

struct Placement {
  BufferId buffer;
  DataType type = DataType::Float32;
  std::vector<std::int64_t> dims;
  // Row by row, or any other strides (in elements): what a Transpose, Slice or Split leaves behind
  // without moving a byte. Unused where the layout is oneDNN's own.
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;  // elements
  std::optional<Desc> blocked = {};

  std::int64_t elements() const;
  std::int64_t bytes() const;  // of the elements, without padding
  bool is_row_major() const;   // contiguous, in order
};

std::vector<std::int64_t> row_major_strides_of(const std::vector<std::int64_t>& dims);
Placement row_major_placement(BufferId buffer, DataType type, std::vector<std::int64_t> dims);
// In oneDNN's layout, or row-major where that is the same thing.
Placement placement_for(BufferId buffer, const Desc& desc, std::vector<std::int64_t> dims);
// The layout as oneDNN describes it.
Desc desc_of(const Placement& placement);

// Blocks of channels: [batch, blocks, pixels, block]. Channels that lie last are one block.
struct BlockShape {
  std::int64_t batch = 0;
  std::int64_t channel_blocks = 0;
  std::int64_t pixels = 0;
  std::int64_t block = 0;
  bool is_padded = false;  // the last block is not full
};

std::optional<BlockShape> block_shape(const Placement& placement);
// The layout of `dims` in blocks as those of `placement`, which has a block shape.
Desc like_blocks(const Placement& placement, const Dims& dims);

}  // namespace assay::cpu
