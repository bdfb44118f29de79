#include "execute/cpu/kernels/row_products.h"

#include <algorithm>

namespace assay::cpu {

namespace {

// Depth that is multiplied before the next: a panel of it stays in a core's nearest cache.
constexpr std::int64_t kDepthAtOnce = 256;

void add_panel_product(const RowsOf& rows, const float* panel, std::int64_t depth,
                       const float* upcoming, float* out, std::int64_t out_stride) {
  const auto width = static_cast<std::int64_t>(simd().panel_width);
  for (std::int64_t start = 0; start < depth; start += kDepthAtOnce) {
    const auto size = static_cast<std::size_t>(std::min(kDepthAtOnce, depth - start));
    simd().add_panel_product(rows.first + start, static_cast<std::size_t>(rows.count),
                             static_cast<std::size_t>(rows.stride), panel + start * width, size,
                             out, static_cast<std::size_t>(out_stride),
                             {upcoming + start * width, size * simd().panel_width});
  }
}

// Columns of some rows of `b`, times alpha, and zeros up to the width of a panel.
void pack_panel(const MatrixOperand& b, std::int64_t row, std::int64_t rows, std::int64_t column,
                std::int64_t columns, float alpha, std::int64_t width, float* panel) {
  const std::int64_t down = b.is_transposed ? 1 : b.stride;
  const std::int64_t across = b.is_transposed ? b.stride : 1;
  const float* from = b.first + row * down + column * across;
  for (std::int64_t r = 0; r < rows; ++r, from += down, panel += width) {
    for (std::int64_t c = 0; c < columns; ++c) panel[c] = alpha * from[c * across];
    std::fill(panel + columns, panel + width, 0.0f);
  }
}

}  // namespace

std::int64_t panel_gemm_floats(std::int64_t rows, const SimdKernels& kernels) {
  return (kDepthAtOnce + rows) * static_cast<std::int64_t>(kernels.panel_width);
}

void panel_gemm(const MatrixSizes& sizes, const MatrixOperand& a, const MatrixOperand& b,
                float alpha, float* result, std::int64_t result_stride, float* workspace,
                const SimdKernels& kernels) {
  const auto width = static_cast<std::int64_t>(kernels.panel_width);
  float* panel = workspace;
  float* narrow = panel + kDepthAtOnce * width;  // results of a panel that is not full
  for (std::int64_t column = 0; column < sizes.columns; column += width) {
    const std::int64_t columns = std::min(width, sizes.columns - column);
    float* products = columns == width ? result + column : narrow;
    const std::int64_t stride = columns == width ? result_stride : width;
    for (std::int64_t start = 0; start < sizes.depth; start += kDepthAtOnce) {
      const std::int64_t depth = std::min(kDepthAtOnce, sizes.depth - start);
      pack_panel(b, start, depth, column, columns, alpha, width, panel);
      const auto product = start == 0 ? kernels.panel_product : kernels.add_panel_product;
      product(a.first + start, static_cast<std::size_t>(sizes.rows),
              static_cast<std::size_t>(a.stride), panel, static_cast<std::size_t>(depth), products,
              static_cast<std::size_t>(stride), {.begin = panel});
    }
    for (std::int64_t row = 0; products == narrow && row < sizes.rows; ++row)
      std::copy_n(narrow + row * width, columns, result + row * result_stride + column);
  }
}

void add_panel_products(const RowsOf& rows, const float* panels, std::int64_t panel_depth,
                        std::int64_t depth, std::int64_t columns, float* out,
                        std::int64_t out_stride) {
  const auto width = static_cast<std::int64_t>(simd().panel_width);
  for (std::int64_t column = 0; column < columns; column += width) {
    const float* panel = panels + column * panel_depth;
    add_panel_product(rows, panel, depth, panel + width * panel_depth, out + column, out_stride);
  }
}

}  // namespace assay::cpu
