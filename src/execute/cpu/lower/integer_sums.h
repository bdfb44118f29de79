// What becomes of 32-bit sums of 8-bit products, a row of columns or channels at a time: shifted by
// zero points, then kept, scaled to floats, or rounded to 8 bits.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

enum class SumsKind { Sums, Floats, Bytes };

struct FloatBounds {
  float low = 0, high = 0;
};

// Vectors have one number for each column.
struct SumsEpilogue {
  SumsKind kind = SumsKind::Sums;
  std::vector<std::int32_t> zero_points = {};  // of the weights; empty: all are 0
  std::vector<float> scales = {};  // in units of the result; one of these may be given for a run
  std::vector<float> bias = {};
  Scale8 to = {};                         // of 8-bit results
  std::optional<FloatBounds> clamp = {};  // of scaled sums, before a zero point is added

  std::size_t result_bytes() const { return kind == SumsKind::Bytes ? 1 : 4; }
};

// What differs between runs and rows.
struct SumsRow {
  std::int32_t source_zero_point = 0;
  float source_scale = 1;
  std::int32_t source_sum = 0;                // of the numbers that were multiplied
  const std::int32_t* column_sums = nullptr;  // of the weights less their zero points
  const float* scales = nullptr;
  const std::int32_t* integer_bias = nullptr;  // may be null
};

std::int32_t zero_point_at(const std::byte* at, bool is_signed);  // 0 where `at` is null

// `sums` may be written over.
void finish_sums(const SumsEpilogue& epilogue, const SumsRow& row, std::int32_t* sums,
                 std::byte* to, std::size_t n);

}  // namespace assay::cpu
