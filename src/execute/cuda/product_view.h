// The operands of a matrix product, seen as matrices with the same batch dimensions:
// [batch…, rows, columns].
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "execute/cuda/lowering.h"

namespace assay::cuda {

struct ProductView {
  Placement a;
  Placement b;
  Dims batch;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
  // Of the result's dimensions, where the rows and the columns are; vectors lack one of them.
  bool has_rows = true;
  bool has_columns = true;
  bool flips_a = false;
  bool flips_b = false;

  std::int64_t batches() const;
  // There is something to compute, and blocks of threads can be counted by it.
  bool fits_a_grid() const;
  // What has one number for each element of an operand, seen as the operand is.
  Placement as_a(Placement placement) const;
  Placement as_b(Placement placement) const;
};

// Of inputs `a` and `b`; the node may ask for their transposes.
ProductView product_view_of(Lowering& lowering, const Node& node, std::size_t a, std::size_t b);

ProductView product_view_of(const Placement& left, const Placement& right, const Node& node,
                            const Dims& result);

// Coordinates of the batch, of which `z` counts the elements, then those given.
std::vector<std::string> batch_coordinates(const Dims& batch,
                                           std::initializer_list<std::string> last);
// Those of the result, from `z`, `row` and `column`.
std::vector<std::string> result_coordinates(const ProductView& view);

// The type that sums of products are kept in.
std::string sum_type_of(DataType type);

}  // namespace assay::cuda
