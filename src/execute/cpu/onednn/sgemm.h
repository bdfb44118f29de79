// The product of two matrices stored row by row, by oneDNN.
#pragma once

#include <cstdint>

namespace assay::cpu {

// A stride is the distance between two rows as stored, in floats.
struct MatrixOperand {
  const float* first = nullptr;
  std::int64_t stride = 0;
  bool is_transposed = false;
};

struct MatrixSizes {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
};

// result = alpha · a · b + beta · result
void sgemm(const MatrixSizes& sizes, const MatrixOperand& a, const MatrixOperand& b, float* result,
           std::int64_t result_stride, float alpha = 1, float beta = 0);

// Whether oneDNN generates it for this processor; otherwise it is plain loops.
bool is_sgemm_generated();

}  // namespace assay::cpu
