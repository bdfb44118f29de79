#include "execute/cpu/simd/tiles/tile_product.h"

#include <atomic>

#include "base/instruction_set.h"
#include "base/round.h"

namespace assay::cpu {

namespace {

constexpr std::size_t kBlock = 32;  // rows and columns

std::atomic<const TileKernels*> replacement{nullptr};

}  // namespace

std::size_t tile_blocks(const TileProduct& product) {
  return ((product.row_count + kBlock - 1) / kBlock) * ((product.columns + kBlock - 1) / kBlock);
}

std::size_t tile_weight_bytes(std::size_t columns, std::size_t chunks, std::size_t chunk_bytes) {
  return rounded_up(columns, kTileColumns) * chunks * chunk_bytes;
}

std::size_t tile_weight_at(std::size_t columns, std::size_t chunks, std::size_t chunk_bytes,
                           std::size_t column, std::size_t chunk, std::size_t depth) {
  const std::size_t tile_bytes = chunk_bytes * kTileColumns;
  const std::size_t tiles = rounded_up(columns, kTileColumns) / kTileColumns;
  const std::size_t tile = column / kTileColumns;
  const std::size_t in_pair = tiles - tile / 2 * 2 == 1 ? 1 : 2;
  const std::size_t at = tile / 2 * 2 * chunks + chunk * in_pair + tile % 2;
  return at * tile_bytes + depth / 4 * kTileBytes + column % kTileColumns * 4 + depth % 4;
}

void replace_tiles(const TileKernels* kernels) {
  replacement = kernels;
}

const TileKernels* tiles() {
  if (const TileKernels* given = replacement) return given;
#if defined(__x86_64__)
  return has_tiles() ? &tiles_amx() : nullptr;
#elif defined(__aarch64__)
  if (may_use_byte_matrix_products()) return &tiles_i8mm();
  return may_use_dot_products() ? &tiles_dot() : nullptr;
#else
  return nullptr;
#endif
}

}  // namespace assay::cpu
