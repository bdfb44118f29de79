// How Winograd convolutions go through their tiles: block by block, so that what lies between the
// stages stays in a core's own cache. The team shares a block, or each thread has blocks of its
// own.
#pragma once

#include <cstddef>

#include "base/function_ref.h"
#include "execute/cpu/simd/simd.h"
#include "kernels/window_grid.h"

namespace assay::cpu {

// A grid of two dimensions, 3×3, of stride 1. `block`: channels that lie side by side; 0: all.
WinogradShape winograd_shape(std::size_t tile, const kernels::WindowGrid& grid,
                             std::int64_t channels, std::int64_t outputs, std::size_t block = 0);

struct TileBlock {
  std::size_t first = 0;  // tile
  std::size_t count = 0;
  std::size_t workspace = 0;  // its number
  int threads = 1;            // that share the block
};

class TileBlocks {
 public:
  // `bytes`: what a tile takes between the stages.
  TileBlocks(std::size_t tiles, std::size_t bytes, int threads);

  std::size_t most_tiles() const { return most_tiles_; }  // of a block
  std::size_t workspaces() const {
    return block_for_each_thread_ ? static_cast<std::size_t>(threads_) : 1;
  }

  void for_each(FunctionRef<void(const TileBlock&)> work) const;

 private:
  TileBlock block(std::size_t i, std::size_t workspace, int threads) const;

  std::size_t tiles_ = 0;
  std::size_t blocks_ = 1;
  std::size_t most_tiles_ = 0;
  int threads_ = 1;
  bool block_for_each_thread_ = false;
};

// Calls work(first, last) for parts of 0..count on `threads` threads.
void in_parts(int threads, std::size_t count, FunctionRef<void(std::size_t, std::size_t)> work);

}  // namespace assay::cpu
