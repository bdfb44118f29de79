#include "execute/cpu/kernels/tile_batch.h"

#include <algorithm>
#include <cstring>

#include "base/as_size.h"
#include "base/round.h"

namespace assay::cpu {

namespace {

std::size_t result_bytes(TileNumber type) {
  if (type == TileNumber::U8 || type == TileNumber::S8) return 1;
  return type == TileNumber::BF16 ? 2 : 4;
}

template <typename Number>
std::int32_t sum_of_row(const Number* row, std::int64_t n) {
  std::int32_t sum = 0;
  for (std::int64_t i = 0; i < n; ++i) sum += row[i];
  return sum;
}

}  // namespace

bool TileBatch::fits(TileType type, std::int64_t k) {
  const std::int64_t bytes = type == TileType::BF16 ? 2 * k : k;
  return bytes >= static_cast<std::int64_t>(kTileBytes) || bytes % 4 == 0;
}

TileBatch::TileBatch(const TileBatchLayer& layer, const TileKernels& kernels)
    : layer_(layer), kernels_(kernels), number_bytes_(layer.type == TileType::BF16 ? 2 : 1) {
  const std::size_t row_bytes = as_size(layer.k) * number_bytes_;
  chunk_bytes_ = std::min(kTileBytes, row_bytes);
  // The last chunk ends with the row: it overlaps the one before, where its weights are zero.
  for (std::size_t begin = 0; begin < row_bytes; begin += chunk_bytes_)
    offsets_.push_back(std::min(begin, row_bytes - chunk_bytes_));
  if (layer_.right_is_unsigned) layer_.right_zero_point -= 128;
}

std::size_t TileBatch::padded_columns() const {
  return rounded_up(as_size(layer_.n), kTileColumns);
}

std::size_t TileBatch::packed_bytes() const {
  return rounded_up(tile_weight_bytes(as_size(layer_.n), offsets_.size(), chunk_bytes_),
                    std::size_t{64});
}

// The packed matrix, then bias and scale of each column, then the bias of each row.
std::size_t TileBatch::workspace_bytes() const {
  const std::size_t words = 2 * padded_columns() + rounded_up(as_size(layer_.m), kTileColumns);
  return packed_bytes() + words * sizeof(std::int32_t);
}

// The numbers of four bytes of depth of one tile of columns, as the words of a row of the tile.
template <typename Number>
void TileBatch::pack_words(const TileBatchOperands& operands, std::size_t depth, std::size_t column,
                           std::byte* row) const {
  constexpr std::size_t kNumbers = 4 / sizeof(Number);
  const std::int64_t step = operands.right_row_stride;
  const std::int64_t across = operands.right_column_stride;
  const Number* from = static_cast<const Number*>(operands.right) +
                       static_cast<std::int64_t>(depth) * step +
                       static_cast<std::int64_t>(column) * across;
  const std::size_t count = std::min(kTileColumns, as_size(layer_.n) - column);
  std::uint32_t words[kTileColumns] = {};
  const std::uint32_t flipped = layer_.right_is_unsigned ? 0x80808080u : 0;
  for (std::size_t c = 0; c < count; ++c) {
    const Number* numbers = from + static_cast<std::int64_t>(c) * across;
    std::uint32_t word = 0;
    if (step == 1) {
      std::memcpy(&word, numbers, sizeof(word));
    } else {
      for (std::size_t i = 0; i < kNumbers; ++i)
        word |= std::uint32_t{numbers[static_cast<std::int64_t>(i) * step]}
                << (8 * sizeof(Number) * i);
    }
    words[c] = word ^ flipped;
  }
  std::memcpy(row, words, sizeof(words));
}

// One number of each column, where not all four bytes are packed here.
template <typename Number>
void TileBatch::pack_numbers(const TileBatchOperands& operands, std::size_t depth,
                             std::size_t column, std::byte* to) const {
  const Number* from = static_cast<const Number*>(operands.right) +
                       static_cast<std::int64_t>(depth) * operands.right_row_stride;
  const std::size_t last = std::min(column + kTileColumns, as_size(layer_.n));
  for (; column < last; ++column, to += 4) {
    const auto number =
        static_cast<Number>(from[static_cast<std::int64_t>(column) * operands.right_column_stride] ^
                            (layer_.right_is_unsigned ? 0x80 : 0));
    std::memcpy(to, &number, sizeof(number));
  }
}

template <typename Number>
void TileBatch::pack_chunk(const TileBatchOperands& operands, std::size_t chunk, std::size_t column,
                           std::byte* tile) const {
  const std::size_t begin = chunk * chunk_bytes_;
  const std::size_t end = std::min(begin + chunk_bytes_, as_size(layer_.k) * sizeof(Number));
  for (std::size_t at = 0; at < chunk_bytes_; at += 4, tile += kTileBytes) {
    const std::size_t byte = offsets_[chunk] + at;
    if (byte >= begin && byte + 4 <= end) {
      pack_words<Number>(operands, byte / sizeof(Number), column, tile);
      continue;
    }
    std::memset(tile, 0, kTileBytes);
    for (std::size_t i = 0; i < 4; i += sizeof(Number)) {
      if (byte + i >= begin && byte + i < end)
        pack_numbers<Number>(operands, (byte + i) / sizeof(Number), column, tile + i);
    }
  }
}

void TileBatch::pack_right(const TileBatchOperands& operands, std::byte* packed) const {
  const std::size_t columns = as_size(layer_.n);
  for (std::size_t chunk = 0; chunk < offsets_.size(); ++chunk) {
    for (std::size_t column = 0; column < columns; column += kTileColumns) {
      std::byte* tile =
          packed + tile_weight_at(columns, offsets_.size(), chunk_bytes_, column, chunk, 0);
      if (layer_.type == TileType::BF16) {
        pack_chunk<std::uint16_t>(operands, chunk, column, tile);
      } else {
        pack_chunk<std::uint8_t>(operands, chunk, column, tile);
      }
    }
  }
}

// −left zero point · (sum of the column − k · right zero point)
void TileBatch::fill_column_bias(const std::byte* packed, std::int32_t* bias) const {
  const std::size_t columns = as_size(layer_.n);
  const auto depth = static_cast<std::int32_t>(layer_.k);
  std::fill_n(bias, padded_columns(), 0);
  if (layer_.left_zero_point == 0) return;
  for (std::size_t column = 0; column < columns; column += kTileColumns) {
    std::int32_t sums[kTileColumns] = {};
    for (std::size_t chunk = 0; chunk < offsets_.size(); ++chunk) {
      const std::byte* tile =
          packed + tile_weight_at(columns, offsets_.size(), chunk_bytes_, column, chunk, 0);
      for (std::size_t i = 0; i < chunk_bytes_ * kTileColumns; ++i)
        sums[i / 4 % kTileColumns] += static_cast<std::int8_t>(tile[i]);
    }
    for (std::size_t c = 0; c < kTileColumns; ++c)
      bias[column + c] = -layer_.left_zero_point * (sums[c] - depth * layer_.right_zero_point);
  }
}

// −right zero point · sum of the row
void TileBatch::fill_row_bias(const TileBatchOperands& operands, std::int64_t rows,
                              std::int32_t* bias) const {
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t at = row * operands.left_stride;
    const std::int32_t sum =
        layer_.type == TileType::S8
            ? sum_of_row(static_cast<const std::int8_t*>(operands.left) + at, layer_.k)
            : sum_of_row(static_cast<const std::uint8_t*>(operands.left) + at, layer_.k);
    bias[row] = -layer_.right_zero_point * sum;
  }
}

void TileBatch::run(const TileBatchOperands& operands, std::int64_t rows) const {
  auto* packed = static_cast<std::byte*>(operands.workspace);
  pack_right(operands, packed);
  TileProduct product;
  product.type = layer_.type;
  product.rows = static_cast<const std::byte*>(operands.left);
  product.row_stride = as_size(operands.left_stride) * number_bytes_;
  product.row_count = product.period = product.used = as_size(rows);
  product.offsets = offsets_.data();
  product.chunks = offsets_.size();
  product.chunk_bytes = chunk_bytes_;
  product.reads_rows_once = true;
  product.weights = packed;
  product.columns = as_size(layer_.n);
  product.epilogue = layer_.epilogue;
  product.results = static_cast<std::byte*>(operands.result);
  product.result_stride = as_size(operands.result_stride) * result_bytes(layer_.epilogue.result);
  if (layer_.type == TileType::BF16) {
    product.epilogue.factor = layer_.scale;
  } else {
    auto* column_bias = reinterpret_cast<std::int32_t*>(packed + packed_bytes());
    auto* scales = reinterpret_cast<float*>(column_bias + padded_columns());
    auto* row_bias = column_bias + 2 * padded_columns();
    fill_column_bias(packed, column_bias);
    std::fill_n(scales, padded_columns(), layer_.scale);
    product.epilogue.bias = column_bias;
    product.epilogue.scales = scales;
    if (layer_.right_zero_point != 0) {
      fill_row_bias(operands, rows, row_bias);
      product.epilogue.row_bias = row_bias;
    }
  }
  kernels_.multiply(product, 0, tile_blocks(product));
}

}  // namespace assay::cpu
