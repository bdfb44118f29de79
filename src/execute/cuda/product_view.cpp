#include "execute/cuda/product_view.h"

#include <fmt/core.h>

#include <limits>

#include "base/checked.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/walk.h"

namespace assay::cuda {

namespace {

void insert_axis(Placement& placement, std::size_t at) {
  placement.dims.insert(placement.dims.begin() + static_cast<std::ptrdiff_t>(at), 1);
  placement.strides.insert(placement.strides.begin() + static_cast<std::ptrdiff_t>(at), 0);
}

void swap_last_axes(Placement& placement) {
  const std::size_t rank = placement.dims.size();
  std::swap(placement.dims[rank - 1], placement.dims[rank - 2]);
  std::swap(placement.strides[rank - 1], placement.strides[rank - 2]);
}

Placement spread(const Placement& matrix, Dims batch, std::int64_t rows, std::int64_t columns) {
  batch.insert(batch.end(), {rows, columns});
  return broadcast(matrix, batch);
}

}  // namespace

std::int64_t ProductView::batches() const {
  return checked_product(batch).value_or(0);
}

bool ProductView::fits_a_grid() const {
  constexpr std::int64_t kMostBatches = std::numeric_limits<std::uint16_t>::max();
  return batches() * rows * columns != 0 && batches() <= kMostBatches;
}

Placement ProductView::as_a(Placement placement) const {
  if (!has_rows) insert_axis(placement, 0);
  if (flips_a) swap_last_axes(placement);
  return spread(placement, batch, rows, depth);
}

Placement ProductView::as_b(Placement placement) const {
  if (!has_columns) insert_axis(placement, 1);
  if (flips_b) swap_last_axes(placement);
  return spread(placement, batch, depth, columns);
}

ProductView product_view_of(Lowering& lowering, const Node& node, std::size_t a, std::size_t b) {
  const Placement left = lowering.native(node.inputs[a]);
  return product_view_of(left, lowering.native(node.inputs[b]), node,
                         lowering.dims(node.outputs[0]));
}

ProductView product_view_of(const Placement& left, const Placement& right, const Node& node,
                            const Dims& result) {
  ProductView view{.a = {}, .b = {}, .batch = {}};
  view.has_rows = left.dims.size() > 1;
  view.has_columns = right.dims.size() > 1;
  view.flips_a = view.has_rows && node.int_or("transA", 0) != 0;
  view.flips_b = view.has_columns && node.int_or("transB", 0) != 0;
  const auto length = [](const Placement& matrix, bool is_matrix, bool last) {
    return !is_matrix ? 1 : matrix.dims[matrix.dims.size() - (last ? 1 : 2)];
  };
  view.rows = length(left, view.has_rows, view.flips_a);
  view.columns = length(right, view.has_columns, !view.flips_b);
  view.depth = view.has_rows ? length(left, true, !view.flips_a) : left.dims[0];
  view.batch = result;
  view.batch.resize(view.batch.size() - (view.has_rows ? 1 : 0) - (view.has_columns ? 1 : 0));
  view.a = view.as_a(left);
  view.b = view.as_b(right);
  return view;
}

std::vector<std::string> batch_coordinates(const Dims& batch,
                                           std::initializer_list<std::string> last) {
  std::vector<std::string> all(batch.size());
  std::string rest = "z";
  for (std::size_t axis = batch.size(); axis-- > 0;) {
    all[axis] = axis == 0 ? rest : remainder_text(rest, batch[axis]);
    rest = "(" + quotient_text(rest, batch[axis]) + ")";
  }
  all.insert(all.end(), last);
  return all;
}

std::vector<std::string> result_coordinates(const ProductView& view) {
  auto at = batch_coordinates(view.batch, {});
  if (view.has_rows) at.emplace_back("row");
  if (view.has_columns) at.emplace_back("column");
  return at;
}

std::string sum_type_of(DataType type) {
  return is_integer(type) ? (bits(type) == 64 ? "long long" : "int") : computed_type(type);
}

}  // namespace assay::cuda
