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

}  // namespace

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
