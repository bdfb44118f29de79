// Batches of products of two activations by tile instructions (AMX), as in attention: 8-bit numbers
// or bf16, read and written through strides.
//
// The right matrix of each product is packed for tiles in every run. It may be unsigned: 128 is
// subtracted from its numbers and from its zero point. What the zero points contribute to the sums
// is taken out by a bias for each column and each row.
#pragma once

#include <cstdint>
#include <vector>

#include "execute/cpu/simd/tiles/tile_product.h"

namespace assay::cpu {

// left[m, k] · right[k, n]
struct TileBatchLayer {
  TileType type = TileType::U8;  // of the left matrix
  std::int64_t m = 0, k = 0, n = 0;
  bool right_is_unsigned = false;  // of 8-bit numbers
  std::int32_t left_zero_point = 0;
  std::int32_t right_zero_point = 0;
  float scale = 1;  // of all sums
  TileEpilogue epilogue = {};
};

// Strides are in elements.
struct TileBatchOperands {
  const void* left = nullptr;
  std::int64_t left_stride = 0;  // from row to row; the elements of a row lie together
  const void* right = nullptr;
  std::int64_t right_row_stride = 0, right_column_stride = 0;
  void* result = nullptr;
  std::int64_t result_stride = 0;
  void* workspace = nullptr;  // of the calling thread
};

class TileBatch {
 public:
  // Whether rows of `k` elements can be loaded as tiles without reading behind them.
  static bool fits(TileType type, std::int64_t k);

  TileBatch(const TileBatchLayer& layer, const TileKernels& kernels);

  std::size_t workspace_bytes() const;  // of a thread; a multiple of 64
  // The first `rows` rows of one product, on the calling thread.
  void run(const TileBatchOperands& operands, std::int64_t rows) const;

 private:
  std::size_t packed_bytes() const;
  std::size_t padded_columns() const;
  TileMatrix right_of(const TileBatchOperands& operands) const;
  void fill_column_bias(const TileMatrix& right, const std::byte* packed, std::int32_t* bias) const;
  void fill_row_bias(const TileBatchOperands& operands, std::int64_t rows,
                     std::int32_t* bias) const;

  TileBatchLayer layer_;
  const TileKernels& kernels_;
  std::size_t number_bytes_ = 1;
  std::size_t chunk_bytes_ = kTileBytes;
  std::vector<std::size_t> offsets_;  // of the chunks of a row
};

}  // namespace assay::cpu
