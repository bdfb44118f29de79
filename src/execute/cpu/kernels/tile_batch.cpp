#include "execute/cpu/kernels/tile_batch.h"

#include <algorithm>

#include "base/as_size.h"
#include "base/round.h"

namespace assay::cpu {

namespace {

std::size_t result_bytes(TileNumber type) {
  if (type == TileNumber::U8 || type == TileNumber::S8) return 1;
  return type == TileNumber::BF16 ? 2 : 4;
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

TileMatrix TileBatch::right_of(const TileBatchOperands& operands) const {
  const auto bytes = static_cast<std::ptrdiff_t>(number_bytes_);
  return {.first = static_cast<const std::byte*>(operands.right),
          .number_bytes = number_bytes_,
          .row_stride = operands.right_row_stride * bytes,
          .column_stride = operands.right_column_stride * bytes,
          .rows = as_size(layer_.k),
          .columns = as_size(layer_.n),
          .offsets = offsets_.data(),
          .chunks = offsets_.size(),
          .chunk_bytes = chunk_bytes_,
          .is_unsigned = layer_.right_is_unsigned};
}

// −left zero point · (sum of the column − k · right zero point)
void TileBatch::fill_column_bias(const TileMatrix& right, const std::byte* packed,
                                 std::int32_t* bias) const {
  if (layer_.left_zero_point == 0) {
    std::fill_n(bias, padded_columns(), 0);
    return;
  }
  kernels_.sum_columns(right, packed, bias);
  const auto depth = static_cast<std::int32_t>(layer_.k);
  for (std::size_t column = 0; column < padded_columns(); ++column)
    bias[column] = -layer_.left_zero_point * (bias[column] - depth * layer_.right_zero_point);
}

// −right zero point · sum of the row
void TileBatch::fill_row_bias(const TileBatchOperands& operands, std::int64_t rows,
                              std::int32_t* bias) const {
  const auto* left = static_cast<const std::byte*>(operands.left);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int32_t sum =
        kernels_.sum_row(layer_.type, left + row * operands.left_stride, as_size(layer_.k));
    bias[row] = -layer_.right_zero_point * sum;
  }
}

void TileBatch::run(const TileBatchOperands& operands, std::int64_t rows) const {
  auto* packed = static_cast<std::byte*>(operands.workspace);
  const TileMatrix right = right_of(operands);
  kernels_.pack(right, packed);
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
    fill_column_bias(right, packed, column_bias);
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
