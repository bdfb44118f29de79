// Winograd's G: filters of three taps as the numbers that give two or four neighbouring results,
// and what the other transforms cost.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::cpu {

constexpr double kFilterOfTwo[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
constexpr double kFilterOfFour[6][3] = {
    {1.0 / 4, 0, 0},
    {-1.0 / 6, -1.0 / 6, -1.0 / 6},
    {-1.0 / 6, 1.0 / 6, -1.0 / 6},
    {1.0 / 24, 1.0 / 12, 1.0 / 6},
    {1.0 / 24, -1.0 / 12, 1.0 / 6},
    {0, 0, 1},
};

// G·g·Gᵀ for one filter, into (tile+2)² numbers.
template <typename Factor, std::size_t kSide, typename Tap>
void transform_filter(const Factor (&matrix)[kSide][3], const Tap* filter, double* out) {
  double half[kSide][3];
  for (std::size_t i = 0; i < kSide; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      half[i][j] = matrix[i][0] * static_cast<double>(filter[j]) +
                   matrix[i][1] * static_cast<double>(filter[3 + j]) +
                   matrix[i][2] * static_cast<double>(filter[6 + j]);
    }
  }
  for (std::size_t i = 0; i < kSide; ++i) {
    for (std::size_t j = 0; j < kSide; ++j) {
      out[i * kSide + j] =
          half[i][0] * matrix[j][0] + half[i][1] * matrix[j][1] + half[i][2] * matrix[j][2];
    }
  }
}

// Additions and multiplications of the two transforms for one channel of one tile.
constexpr std::int64_t input_transform_flops(std::size_t tile) {
  return tile == 2 ? 8 * 4 : 12 * 19;
}
constexpr std::int64_t output_transform_flops(std::size_t tile) {
  return tile == 2 ? 6 * 4 : 10 * 13;
}

}  // namespace assay::cpu
