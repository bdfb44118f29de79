// Rows times a matrix that is used again and again: packed once into panels of columns, as the
// panel product in simd/ reads them.
#pragma once

#include <cstdint>

#include "execute/cpu/onednn/sgemm.h"
#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

// Whether panels are read less often than the matrix would be row after row.
constexpr bool are_worth_panels(std::int64_t rows) {
  return rows >= 4;
}

struct RowsOf {
  const float* first = nullptr;
  std::int64_t count = 0;
  std::int64_t stride = 0;
};

// out[r] += rows[r] · matrix for `columns` columns, a multiple of simd().panel_width. The panels of
// all of the matrix are `panel_depth` deep, of which `depth` rows are used.
void add_panel_products(const RowsOf& rows, const float* panels, std::int64_t panel_depth,
                        std::int64_t depth, std::int64_t columns, float* out,
                        std::int64_t out_stride);

// result = alpha · a · b, where `b` is used once: each panel is packed when it is needed. `a` is
// stored row by row; `workspace` has panel_gemm_floats(sizes.rows).
std::int64_t panel_gemm_floats(std::int64_t rows, const SimdKernels& kernels = simd());
void panel_gemm(const MatrixSizes& sizes, const MatrixOperand& a, const MatrixOperand& b,
                float alpha, float* result, std::int64_t result_stride, float* workspace,
                const SimdKernels& kernels = simd());

}  // namespace assay::cpu
