#include "execute/cpu/kernels/tile_blocks.h"

#include <algorithm>

#include "base/round.h"
#include "execute/threads.h"

namespace assay::cpu {

using kernels::WindowAxis;
using kernels::WindowGrid;

namespace {

// What a block of tiles may take, so that it stays in a core's own cache between the stages.
constexpr std::size_t kBlockBytes = std::size_t{512} << 10;
// Weights pass through the cache once for each block: fewer tiles would not be worth that.
constexpr std::size_t kFewestTiles = 56;
// A thread that works alone on this many tiles uses the kernels well.
constexpr std::size_t kTilesForOneThread = 28;

ChannelLayout layout_of(std::size_t channels, std::size_t pixels, std::size_t block) {
  if (block == 0) return {channels, channels, 0, pixels * channels};
  return {block, block, pixels * block, pixels * channels};
}

}  // namespace

WinogradShape winograd_shape(std::size_t tile, const WindowGrid& grid, std::int64_t channels,
                             std::int64_t outputs, std::size_t block) {
  const auto size = [](std::int64_t number) { return static_cast<std::size_t>(number); };
  const WindowAxis& down = grid.axes[1];
  const WindowAxis& across = grid.axes[2];
  return {.tile = tile,
          .height = size(down.input),
          .width = size(across.input),
          .channels = size(channels),
          .rows = size(down.output),
          .columns = size(across.output),
          .outputs = size(outputs),
          .pad_top = down.pad_begin,
          .pad_left = across.pad_begin,
          .tiles_down = (size(down.output) + tile - 1) / tile,
          .tiles_across = (size(across.output) + tile - 1) / tile,
          .in = layout_of(size(channels), size(grid.input_elements()), block),
          .out = layout_of(size(outputs), size(grid.output_elements()), block)};
}

TileBlocks::TileBlocks(std::size_t tiles, std::size_t bytes, int threads)
    : tiles_(tiles), threads_(threads) {
  const auto team = static_cast<std::size_t>(threads);
  const std::size_t wanted = std::max(kBlockBytes / bytes, kFewestTiles);
  blocks_ = (tiles + wanted - 1) / wanted;
  block_for_each_thread_ = team > 1 && tiles >= team * kTilesForOneThread;
  if (block_for_each_thread_) blocks_ = rounded_up(blocks_, team);
  most_tiles_ = (tiles + blocks_ - 1) / blocks_;
}

TileBlock TileBlocks::block(std::size_t i, std::size_t workspace, int threads) const {
  const std::size_t first = tiles_ * i / blocks_;
  return {first, tiles_ * (i + 1) / blocks_ - first, workspace, threads};
}

void TileBlocks::for_each(FunctionRef<void(const TileBlock&)> work) const {
  if (!block_for_each_thread_) {
    for (std::size_t i = 0; i < blocks_; ++i) work(block(i, 0, threads_));
    return;
  }
  const auto team = static_cast<std::size_t>(threads_);
  execute::for_each_in_parallel(threads_, team, [&](std::size_t thread) {
    for (std::size_t i = blocks_ * thread / team; i < blocks_ * (thread + 1) / team; ++i)
      work(block(i, thread, 1));
  });
}

void in_parts(int threads, std::size_t count, FunctionRef<void(std::size_t, std::size_t)> work) {
  execute::in_parallel(threads, static_cast<std::int64_t>(count),
                       [&](std::int64_t first, std::int64_t last) {
                         work(static_cast<std::size_t>(first), static_cast<std::size_t>(last));
                       });
}

}  // namespace assay::cpu
