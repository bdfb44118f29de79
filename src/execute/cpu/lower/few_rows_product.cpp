// A few rows times a float matrix: bound by reading the matrix once, which our own kernels do
// nearer to the memory's bandwidth than oneDNN's. The matrix is packed into panels of columns or,
// where others read it as it is stored or it changes from run to run, taken row by row.
#include <algorithm>

#include "execute/cpu/kernels/row_products.h"
#include "execute/cpu/lower/own_product.h"
#include "execute/cpu/simd/simd.h"
#include "execute/cpu/tensor_floats.h"

namespace assay::cpu {

namespace {

// Above it, arithmetic counts too.
constexpr std::int64_t kMostRowsOfFew = 4;
// Below it, the matrix stays in a core's own cache, where oneDNN's product is as fast or faster.
constexpr std::int64_t kFewRowsBytes = std::int64_t{2} << 20;

std::int64_t panel_columns() {
  return static_cast<std::int64_t>(simd().panel_width);
}

void pack_panels(const FewRowsProduct& product, const float* values, float* panels) {
  const std::int64_t width = panel_columns();
  const std::int64_t column_step = product.is_transposed ? product.k : 1;
  const std::int64_t row_step = product.is_transposed ? 1 : product.n;
  for (std::int64_t first = 0; first < product.n; first += width) {
    const std::int64_t columns = std::min(width, product.n - first);
    for (std::int64_t row = 0; row < product.k; ++row, panels += width) {
      const float* from = values + first * column_step + row * row_step;
      for (std::int64_t c = 0; c < columns; ++c) panels[c] = from[c * column_step];
      std::fill(panels + columns, panels + width, 0.0f);
    }
  }
}

Placement packed_panels(Lowering& lowering, const FewRowsProduct& product) {
  const std::int64_t width = panel_columns();
  const std::int64_t columns = (product.n + width - 1) / width * width;
  const auto bytes = static_cast<std::size_t>(columns * product.k) * sizeof(float);
  return lowering.weights().prepared(
      *product.weight, product.is_transposed ? "panels of rows" : "panels of columns", bytes,
      [product](const Tensor& tensor, std::byte* prepared) {
        with_floats(tensor, [&](const float* values) {
          pack_panels(product, values, reinterpret_cast<float*>(prepared));
        });
      });
}

void multiply_panels(std::int64_t depth, const std::byte* weights, const ProductRows& rows,
                     std::int64_t first, std::int64_t last, const ProductTarget& target) {
  const std::int64_t panel_floats = depth * panel_columns();
  for (std::int64_t unit = first; unit < last; ++unit) {
    const float* panel = reinterpret_cast<const float*>(weights) + unit * panel_floats;
    simd().panel_product(
        rows.first, static_cast<std::size_t>(rows.count), static_cast<std::size_t>(rows.stride),
        panel, static_cast<std::size_t>(depth), target.products + (unit - first) * panel_columns(),
        static_cast<std::size_t>(target.stride),
        {panel + panel_floats, static_cast<std::size_t>(panel_floats)});
  }
}

// Rows of the matrix that are multiplied before the next row of activations.
constexpr std::int64_t kDotsTogether = 24;
// Rows of activations whose columns are laid side by side, so that no sum has to be folded.
constexpr std::int64_t kRowsSideBySide = 16;

// Columns of the product that one thread takes at least.
constexpr std::int64_t kColumnsOfUnit = 32;

// Rows of a matrix [n, depth], from `first` on: columns of the product.
struct MatrixRows {
  const float* first = nullptr;
  std::int64_t count = 0;
  std::int64_t depth = 0;
};

void multiply_sixteen(const float* rows, std::int64_t stride, const MatrixRows& matrix,
                      float* products, std::int64_t products_stride, float* scratch) {
  const auto depth = static_cast<std::size_t>(matrix.depth);
  const auto count = static_cast<std::size_t>(matrix.count);
  constexpr auto kRows = static_cast<std::size_t>(kRowsSideBySide);
  float* columns = scratch + kRows * depth;
  simd().transpose(rows, static_cast<std::size_t>(stride), scratch, kRows, kRows, depth);
  simd().sixteen_by_rows(scratch, matrix.first, count, depth, columns);
  simd().transpose(columns, kRows, products, static_cast<std::size_t>(products_stride), count,
                   kRows);
}

void multiply_few(const ProductRows& rows, const MatrixRows& matrix, float* products,
                  std::int64_t products_stride) {
  const auto depth = static_cast<std::size_t>(matrix.depth);
  for (std::int64_t first = 0; first < matrix.count; first += kDotsTogether) {
    const auto count = static_cast<std::size_t>(std::min(kDotsTogether, matrix.count - first));
    const float* columns = matrix.first + first * matrix.depth;
    if (are_worth_panels(rows.count)) {
      simd().rows_by_rows(
          {rows.first, static_cast<std::size_t>(rows.count), static_cast<std::size_t>(rows.stride)},
          columns, count, depth, products + first, static_cast<std::size_t>(products_stride));
      continue;
    }
    for (std::int64_t row = 0; row < rows.count; ++row)
      simd().dot_products(rows.first + row * rows.stride, columns, count, depth,
                          products + row * products_stride + first);
  }
}

void multiply_by_rows(const ProductRows& rows, const MatrixRows& matrix,
                      const ProductTarget& target) {
  std::int64_t row = 0;
  const bool is_worth_laying_out = matrix.count >= kColumnsOfUnit;
  for (; is_worth_laying_out && row + kRowsSideBySide <= rows.count; row += kRowsSideBySide)
    multiply_sixteen(rows.first + row * rows.stride, rows.stride, matrix,
                     target.products + row * target.stride, target.stride, target.scratch);
  if (row == rows.count) return;
  multiply_few({rows.first + row * rows.stride, rows.count - row, rows.stride}, matrix,
               target.products + row * target.stride, target.stride);
}

// Up to here, packing a matrix that changes from run to run would take longer than it saves.
constexpr std::int64_t kMostRowsOfState = 64;

bool is_worth_own_product(const Lowering& lowering, const FewRowsProduct& product) {
  if (product.weight == nullptr) return product.is_transposed && product.m <= kMostRowsOfState;
  const auto bytes = static_cast<std::int64_t>(product.weight->byte_size());
  if (product.m > kMostRowsOfFew || bytes < kFewRowsBytes) return false;
  if (product.is_shared) return product.is_transposed;
  const bool has_to_fit = lowering.options().program.optimize_for == OptimizeFor::Memory;
  const bool is_enlarged = product.n % panel_columns() != 0;
  const bool is_large = product.weight->byte_size() > kLargeWeight;
  return !has_to_fit || (!is_enlarged && !is_large);
}

}  // namespace

bool lower_few_rows_product(Lowering& lowering, const FewRowsProduct& product) {
  if (!is_worth_own_product(lowering, product)) return false;
  OwnProduct own{.id = product.id,
                 .source = product.source,
                 .m = product.m,
                 .k = product.k,
                 .n = product.n,
                 .bias = product.bias,
                 .depth = product.k};
  constexpr std::int64_t kColumnsAtOnce = 512;
  if (product.is_shared) {
    own.weights = lowering.row_major(lowering.node(product.id).inputs[1]);
    own.algorithm = "dot products";
    own.unit = kColumnsOfUnit;
    own.multiply = [k = product.k, n = product.n](const std::byte* weights, const ProductRows& rows,
                                                  std::int64_t first, std::int64_t last,
                                                  const ProductTarget& target) {
      const std::int64_t column = first * kColumnsOfUnit;
      const float* matrix = reinterpret_cast<const float*>(weights) + column * k;
      multiply_by_rows(rows, {matrix, std::min(last * kColumnsOfUnit, n) - column, k}, target);
    };
    if (product.m >= kRowsSideBySide)
      own.scratch_floats = kRowsSideBySide * (product.k + kColumnsAtOnce);
  } else {
    own.weights = packed_panels(lowering, product);
    own.algorithm = "panels";
    own.unit = panel_columns();
    own.multiply = [k = product.k](const std::byte* weights, const ProductRows& rows,
                                   std::int64_t first, std::int64_t last,
                                   const ProductTarget& target) {
      multiply_panels(k, weights, rows, first, last, target);
    };
  }
  own.units_at_once = kColumnsAtOnce / own.unit;
  add_own_product(lowering, std::move(own));
  return true;
}

}  // namespace assay::cpu
