// Products of rows with a constant matrix that our own kernels compute: how the columns are shared
// out to threads, and what happens to the results before they are written (bias, activation,
// residual), whatever form the matrix is stored in.
#pragma once

#include <functional>

#include "execute/cpu/lowering.h"

namespace assay::cpu {

// Rows of activations, `stride` floats apart.
struct ProductRows {
  const float* first = nullptr;
  std::int64_t count = 0;
  std::int64_t stride = 0;
  const float* block_sums = nullptr;  // by row and block, where the product wants them
};

// Where one thread's products go: row r at `products + r * stride`.
struct ProductTarget {
  float* products = nullptr;
  std::int64_t stride = 0;
  float* scratch = nullptr;
};

struct OwnProduct {
  NodeId id;
  ValueId source;
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::optional<ValueId> bias = {};
  Placement weights = {};
  std::string algorithm = "";
  std::int64_t depth = 0;  // at least k: rows are read up to here, zeros behind their end
  std::int64_t block = 0;  // sums of blocks of each row are wanted; 0: none are
  std::int64_t unit = 0;   // columns that are computed together
  std::int64_t units_at_once = 1;
  std::int64_t scratch_floats = 0;  // a thread's
  // All rows times the columns of units first..last.
  std::function<void(const std::byte* weights, const ProductRows& rows, std::int64_t first,
                     std::int64_t last, const ProductTarget& target)>
      multiply = {};

  std::int64_t units() const { return (n + unit - 1) / unit; }
};

// The step, with an Add of a bias behind it, activations and a residual fused where they can be.
void add_own_product(Lowering& lowering, OwnProduct product);

// A product of a few rows with a float matrix, stored [k, n] or, if transposed, [n, k].
struct FewRowsProduct {
  NodeId id;
  ValueId source;
  const Tensor* weight = nullptr;  // null: it changes from run to run
  bool is_transposed = false;
  bool is_shared = false;  // the matrix is read where it is stored
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;
  std::optional<ValueId> bias = {};
};
// False: too many rows, or not worth storing the matrix in another layout.
bool lower_few_rows_product(Lowering& lowering, const FewRowsProduct& product);

}  // namespace assay::cpu
