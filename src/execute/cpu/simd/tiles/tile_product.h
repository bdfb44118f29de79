// Matrix products by tile instructions (AMX): 8-bit numbers into 32-bit sums, bf16 into fp32.
//
// The algorithm (tile_product.inc) is written in terms of a few tile instructions. tiles_amx.cpp
// has the processor's; tests/execute/tiles_emulated.cpp has the same as plain loops, so that tests
// run the algorithm on any machine. On AArch64, dot products and matrix products of 8-bit numbers
// read the same packed weights (tile_dot.inc), sums being in registers instead of tiles. Nothing
// here allocates or starts threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace assay::cpu {

constexpr std::size_t kTileRows = 16;
constexpr std::size_t kTileBytes = 64;    // of a row, at most
constexpr std::size_t kTileColumns = 16;  // of sums

enum class TileType : std::uint8_t { U8, S8, BF16 };  // of A; B is signed 8-bit or bf16
enum class TileNumber : std::uint8_t { None, U8, S8, S32, F32, BF16 };
enum class TileActivation : std::uint8_t { None, GeluErf, GeluTanh, Swish, HardSwish };

// What happens to the sums of a row before they are written, in this order. 8-bit products:
// (sum + bias of the column + bias of the row) · scale, clamped; where there is an addend, rounded
// if `rounds_first`, + own zero point, · factor, + (addend + shift), or, if the addend is first,
// addend + (the other + shift); clamped, rounded to the nearest (halves to even), + zero point.
// Results of 32 bits are
// the sums themselves, + biases; floats are neither rounded nor shifted. bf16 products: sum ·
// factor + bias, + addend, activation, clamped. Arrays of a number for each column are padded to
// whole tiles.
struct TileEpilogue {
  TileNumber result = TileNumber::S32;
  const void* bias = nullptr;              // 32-bit integers or, for bf16, floats; may be null
  const std::int32_t* row_bias = nullptr;  // of 8-bit products, a number for each row; may be null
  const float* scales = nullptr;           // of 8-bit products, unless the result is S32
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  bool rounds_first = false;  // what was clamped to 8 bits
  std::int32_t own_zero_point = 0;
  float factor = 1;
  TileNumber addend_type = TileNumber::None;
  const std::byte* addend = nullptr;  // as the results lie; may be the results themselves
  float addend_scale = 1;
  std::int32_t addend_zero_point = 0;
  float addend_shift = 0;        // of 8-bit products
  bool addend_is_first = false;  // of two roundings; of 8-bit products
  TileActivation activation = TileActivation::None;
  float low_after = -std::numeric_limits<float>::infinity();
  float high_after = std::numeric_limits<float>::infinity();
  std::int32_t zero_point = 0;
};

// C = A · B. A row of A is `chunks` pieces of `chunk_bytes` bytes, each at an offset from the row's
// beginning, and rows begin `row_stride` bytes apart: pixels of an image are such rows, and the
// taps of a convolution such pieces. Of every `period` rows the first `used` have results, which
// lie without gaps.
struct TileProduct {
  TileType type = TileType::U8;
  const std::byte* rows = nullptr;
  std::size_t row_stride = 0;
  std::size_t row_count = 0;
  std::size_t period = 0;
  std::size_t used = 0;
  const std::size_t* offsets = nullptr;
  std::size_t chunks = 0;
  std::size_t chunk_bytes = kTileBytes;  // a multiple of 4
  bool reads_rows_once = false;  // chunks do not overlap: rows need not stay in the first cache
  const std::byte* weights = nullptr;  // B, packed: tile_weight_bytes, tile_weight_at
  std::size_t columns = 0;
  TileEpilogue epilogue = {};
  std::byte* results = nullptr;
  std::size_t result_stride = 0;  // bytes, from a row of results to the next
};

// A right matrix of activations, which is packed in every run. Strides are in bytes. Of unsigned
// numbers of 8 bits, 128 is subtracted.
struct TileMatrix {
  const std::byte* first = nullptr;
  std::size_t number_bytes = 1;  // 1 or, of bf16, 2
  std::ptrdiff_t row_stride = 0, column_stride = 0;
  std::size_t rows = 0, columns = 0;
  const std::size_t* offsets = nullptr;  // of the chunks; the last may overlap the one before,
  std::size_t chunks = 0;                // where its weights are zero
  std::size_t chunk_bytes = kTileBytes;
  bool is_unsigned = false;
};

struct TileKernels {
  const char* name = "";
  // Blocks `first` to `last` of tile_blocks(product), on the calling thread.
  void (*multiply)(const TileProduct& product, std::size_t first, std::size_t last);
  // tile_weight_bytes are written.
  void (*pack)(const TileMatrix& matrix, std::byte* packed);
  // Of packed 8-bit numbers, a sum for each column, padded to whole tiles.
  void (*sum_columns)(const TileMatrix& matrix, const std::byte* packed, std::int32_t* sums);
  std::int32_t (*sum_row)(TileType type, const std::byte* row, std::size_t n);  // of 8-bit numbers
  bool multiplies_bf16 = true;
};

// Blocks of up to 32 rows and 32 columns that a product is made of; they can be computed in any
// order and by any thread.
std::size_t tile_blocks(const TileProduct& product);

// Packed weights: for each pair of column tiles, chunk by chunk, the tiles of the pair; a tile has
// a row of 64 bytes for every 4 bytes of depth, in which the 4 bytes of a column lie together.
std::size_t tile_weight_bytes(std::size_t columns, std::size_t chunks, std::size_t chunk_bytes);
// Where the byte at `depth` of a chunk and `column` lies.
std::size_t tile_weight_at(std::size_t columns, std::size_t chunks, std::size_t chunk_bytes,
                           std::size_t column, std::size_t chunk, std::size_t depth);

// Null where this process may use neither tile instructions nor, on AArch64, dot products.
const TileKernels* tiles();
// For tests: these instead, whatever the processor has; null undoes it.
void replace_tiles(const TileKernels* kernels);

const TileKernels& tiles_amx();   // only if has_tiles()
const TileKernels& tiles_dot();   // only if may_use_dot_products()
const TileKernels& tiles_i8mm();  // only if may_use_byte_matrix_products()

}  // namespace assay::cpu
