// Tile instructions as plain loops, for tests on processors without them. What the instructions
// refuse with a fault is refused here too.
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "base/fail.h"
#include "execute/cpu/simd/tiles/tile_product.h"
#include "execute/emulated.h"

namespace assay::cpu {

namespace {

struct EmulatedTile {
  std::size_t rows = 0;
  std::size_t row_bytes = 0;
  unsigned char bytes[kTileRows][kTileBytes] = {};
};

// Of a thread, as the processor's are.
thread_local EmulatedTile emulated_tiles[8];

void expect(bool holds, const char* what) {
  if (!holds) fail_running("emulated tiles: {}", what);
}

EmulatedTile& configured(int tile) {
  EmulatedTile& found = emulated_tiles[tile];
  expect(found.rows > 0 && found.row_bytes > 0, "a tile without a size is used");
  return found;
}

template <int kTile>
void tile_zero() {
  std::memset(configured(kTile).bytes, 0, sizeof(EmulatedTile::bytes));
}

template <int kTile>
void tile_load(const std::byte* rows, std::size_t stride) {
  tile_zero<kTile>();
  EmulatedTile& tile = configured(kTile);
  for (std::size_t r = 0; r < tile.rows; ++r)
    std::memcpy(tile.bytes[r], rows + r * stride, tile.row_bytes);
}

template <int kTile>
void tile_load_once(const std::byte* rows, std::size_t stride) {
  tile_load<kTile>(rows, stride);
}

template <int kTile>
void tile_store(std::int32_t* rows, std::size_t stride) {
  const EmulatedTile& tile = configured(kTile);
  for (std::size_t r = 0; r < tile.rows; ++r)
    std::memcpy(reinterpret_cast<std::byte*>(rows) + r * stride, tile.bytes[r], tile.row_bytes);
}

template <typename T>
T element_of(const EmulatedTile& tile, std::size_t row, std::size_t i) {
  T value;
  std::memcpy(&value, tile.bytes[row] + i * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void set_element(EmulatedTile& tile, std::size_t row, std::size_t i, T value) {
  std::memcpy(tile.bytes[row] + i * sizeof(T), &value, sizeof(T));
}

void expect_fitting(const EmulatedTile& sum, const EmulatedTile& a, const EmulatedTile& b) {
  expect(sum.rows == a.rows, "sums and A differ in rows");
  expect(sum.row_bytes == b.row_bytes, "sums and B differ in columns");
  expect(a.row_bytes == 4 * b.rows, "A and B differ in depth");
}

// Sums wrap around, they do not saturate.
template <typename A>
void dot_8_bit(EmulatedTile& sum, const EmulatedTile& a, const EmulatedTile& b) {
  expect_fitting(sum, a, b);
  for (std::size_t m = 0; m < sum.rows; ++m) {
    for (std::size_t n = 0; n < sum.row_bytes / 4; ++n) {
      auto total = element_of<std::uint32_t>(sum, m, n);
      for (std::size_t k = 0; k < a.row_bytes; ++k) {
        const int product =
            element_of<A>(a, m, k) * element_of<std::int8_t>(b, k / 4, 4 * n + k % 4);
        total += static_cast<std::uint32_t>(product);
      }
      set_element(sum, m, n, total);
    }
  }
}

template <int kSum, int kA, int kB>
void dot_u8s8() {
  dot_8_bit<std::uint8_t>(configured(kSum), configured(kA), configured(kB));
}

template <int kSum, int kA, int kB>
void dot_s8s8() {
  dot_8_bit<std::int8_t>(configured(kSum), configured(kA), configured(kB));
}

// Numbers below the smallest normal one count as zero, in operands and results.
float flushed(float value) {
  return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value;
}

float bf16_element(const EmulatedTile& tile, std::size_t row, std::size_t i) {
  const std::uint32_t bits = std::uint32_t{element_of<std::uint16_t>(tile, row, i)} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return flushed(value);
}

// Even and odd positions are summed apart by fused multiply-adds, then both are added to the sum.
template <int kSum, int kA, int kB>
void dot_bf16() {
  EmulatedTile& sum = configured(kSum);
  const EmulatedTile& a = configured(kA);
  const EmulatedTile& b = configured(kB);
  expect_fitting(sum, a, b);
  for (std::size_t m = 0; m < sum.rows; ++m) {
    for (std::size_t n = 0; n < sum.row_bytes / 4; ++n) {
      float totals[2] = {};
      for (std::size_t k = 0; k < a.row_bytes / 2; ++k) {
        float& total = totals[k % 2];
        total =
            flushed(std::fma(bf16_element(a, m, k), bf16_element(b, k / 2, 2 * n + k % 2), total));
      }
      const float both = flushed(totals[0] + totals[1]);
      set_element(sum, m, n, flushed(flushed(element_of<float>(sum, m, n)) + both));
    }
  }
}

void configure(const void* sizes) {
  const auto* bytes = static_cast<const unsigned char*>(sizes);
  expect(bytes[0] == 1, "only palette 1 is known");
  for (std::size_t tile = 0; tile < 8; ++tile) {
    EmulatedTile& target = emulated_tiles[tile];
    std::uint16_t row_bytes = 0;
    std::memcpy(&row_bytes, bytes + 16 + 2 * tile, sizeof(row_bytes));
    target = {.rows = bytes[48 + tile], .row_bytes = row_bytes};
    expect(target.rows <= kTileRows && target.row_bytes <= kTileBytes, "a tile is too large");
    expect((target.rows == 0) == (target.row_bytes == 0), "a tile has rows or columns alone");
    expect(target.row_bytes % 4 == 0, "a tile's rows are not whole words");
  }
}

void release() {
  for (EmulatedTile& tile : emulated_tiles) tile = {};
}

#include "execute/cpu/simd/tiles/tile_product.inc"

}  // namespace

const TileKernels& tiles_emulated() {
  static constexpr TileKernels kTable = {"emulated", multiply, pack_matrix, sum_packed_columns,
                                         sum_row};
  return kTable;
}

}  // namespace assay::cpu
