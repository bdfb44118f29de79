// LSTM with weights of 8 bits: the input is quantised as a whole, the state of each sequence before
// each step. Units are divided into panels as in recurrent.h.
#pragma once

#include <span>
#include <vector>

#include "execute/cpu/kernels/recurrent.h"
#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

// Sums of products with deeper matrices might not fit 32 bits.
constexpr std::int64_t kDeepestByteProduct = 32 << 10;

// One direction's matrix as DynamicQuantizeLSTM stores it: [depth, 4·hidden]. There is one scale
// and one zero point, or one for each column.
struct PlainBytes {
  const std::byte* numbers = nullptr;
  bool is_signed = false;
  std::int64_t depth = 0;
  std::span<const float> scales = {};
  std::span<const std::int32_t> zero_points = {};
};

// What turns sums of 8-bit products into floats, with columns in the order of panels.
class ByteColumns {
 public:
  ByteColumns(const RecurrentSizes& sizes, const PlainBytes& matrix);

  // What a row times the columns from `first` on needs, but for its bias.
  ScaledSums scaled(const Scale8& source, std::int32_t source_sum, std::int64_t first) const;
  bool has_zero_points() const { return has_zero_points_; }
  std::int64_t depth() const { return depth_; }
  std::int64_t padded_depth() const { return (depth_ + 3) / 4 * 4; }
  std::int64_t packed_bytes() const {
    return static_cast<std::int64_t>(scales_.size()) * padded_depth();
  }

 private:
  std::int64_t depth_ = 0;
  bool has_zero_points_ = false;
  std::vector<float> scales_;
  std::vector<std::int32_t> sums_;
  std::vector<std::int32_t> zero_points_;
};

// Writes the matrix as a byte product reads it: `packed_bytes()` of its columns.
void pack_bytes(const RecurrentSizes& sizes, const PlainBytes& matrix, std::int8_t* packed);

// Everything about one direction's weights but the packed matrices.
struct QuantizedLstm {
  QuantizedLstm(const RecurrentSizes& sizes, const PlainBytes& input, const PlainBytes& recurrent,
                const float* plain_bias);  // null: no bias

  RecurrentSizes sizes;
  ByteColumns input;
  ByteColumns recurrent;
  std::vector<float> bias;  // [gate_row]

  std::int64_t workspace_bytes(int threads) const;
};

struct QuantizedBuffers {
  RecurrentBuffers floats;
  const std::int8_t* input = nullptr;  // packed
  const std::int8_t* recurrent = nullptr;
  std::uint8_t* workspace = nullptr;
};

void run_quantized_lstm(const QuantizedLstm& layer, const QuantizedBuffers& buffers,
                        ByteProductFunction product, int threads);

}  // namespace assay::cpu
