// Matrix products by their definition: float and double are summed in double, integers in
// std::uint64_t, where they wrap. Operands are not copied, whether transposed or not.
#pragma once

#include <type_traits>

#include "kernels/kernel.h"
#include "kernels/shape_math.h"

namespace assay::kernels {

template <typename T>
using SumOf = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;

template <typename T>
struct Matrix {
  const T* elements = nullptr;
  std::int64_t row_step = 0;
  std::int64_t column_step = 1;

  const T* at(std::int64_t row, std::int64_t column) const {
    return elements + row * row_step + column * column_step;
  }
};

// result(rows × columns) = a(rows × inner) · b(inner × columns)
template <typename T>
void multiply(const Matrix<T>& a, const Matrix<T>& b, std::int64_t rows, std::int64_t inner,
              std::int64_t columns, SumOf<T>* result) {
  for (std::int64_t row = 0; row < rows; ++row, result += columns) {
    if (b.column_step == 1) {
      for (std::int64_t k = 0; k < inner; ++k) {
        const auto factor = static_cast<SumOf<T>>(*a.at(row, k));
        const T* line = b.at(k, 0);
        for (std::int64_t column = 0; column < columns; ++column)
          result[column] += factor * static_cast<SumOf<T>>(line[column]);
      }
    } else {
      for (std::int64_t column = 0; column < columns; ++column) {
        for (std::int64_t k = 0; k < inner; ++k)
          result[column] +=
              static_cast<SumOf<T>>(*a.at(row, k)) * static_cast<SumOf<T>>(*b.at(k, column));
      }
    }
  }
}

// Swaps the last two axes of an operand.
struct TransposedOperands {
  bool a = false;
  bool b = false;
};

// How two tensors of matrices multiply: numpy's rules. A vector is a row on the left and a column
// on the right; axes before the last two broadcast.
class BatchedProduct {
 public:
  BatchedProduct(const KernelCall& call, const Dims& a, const Dims& b,
                 TransposedOperands transposed = {});

  const Dims& result_dims() const { return result_dims_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }

  template <typename T>
  std::vector<SumOf<T>> multiplied(const std::vector<T>& a, const std::vector<T>& b) const;

 private:
  TransposedOperands transposed_;
  std::int64_t rows_ = 0;
  std::int64_t inner_ = 0;
  std::int64_t columns_ = 0;
  Dims batch_;
  Dims a_steps_;  // over `batch_`
  Dims b_steps_;
  Dims result_dims_;
  std::size_t elements_ = 0;
};

template <typename T>
std::vector<SumOf<T>> BatchedProduct::multiplied(const std::vector<T>& a,
                                                 const std::vector<T>& b) const {
  std::vector<SumOf<T>> results(elements_);
  if (results.empty()) return results;
  for_each_index(batch_, [&](std::span<const std::int64_t> index, std::size_t i) {
    Matrix<T> left = {a.data() + offset_of(index, a_steps_) * rows_ * inner_, inner_, 1};
    Matrix<T> right = {b.data() + offset_of(index, b_steps_) * inner_ * columns_, columns_, 1};
    if (transposed_.a) left = {left.elements, 1, rows_};
    if (transposed_.b) right = {right.elements, 1, inner_};
    multiply(left, right, rows_, inner_, columns_, &results[i * rows_ * columns_]);
  });
  return results;
}

}  // namespace assay::kernels
