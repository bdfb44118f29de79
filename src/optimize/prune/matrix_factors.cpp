#include "optimize/prune/matrix_factors.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "execute/cpu/onednn/sgemm.h"

namespace assay::optimize {

namespace {

using cpu::MatrixOperand;

DenseMatrix zeros(std::size_t rows, std::size_t columns) {
  return {rows, columns, std::vector<float>(rows * columns, 0.0f)};
}

std::int64_t as_length(std::size_t number) {
  return static_cast<std::int64_t>(number);
}

MatrixOperand as_stored(const DenseMatrix& matrix, std::size_t first_row = 0) {
  return {matrix.row(first_row), as_length(matrix.columns)};
}

MatrixOperand as_transposed(const DenseMatrix& matrix, std::size_t first_row = 0) {
  return {matrix.row(first_row), as_length(matrix.columns), true};
}

DenseMatrix product_of_matrices(const DenseMatrix& a, const DenseMatrix& b) {
  DenseMatrix result = zeros(a.rows, b.columns);
  cpu::sgemm({as_length(a.rows), as_length(b.columns), as_length(a.columns)}, as_stored(a),
             as_stored(b), result.values.data(), as_length(b.columns));
  return result;
}

DenseMatrix product_with_transposed(const DenseMatrix& a, const DenseMatrix& b) {
  DenseMatrix result = zeros(a.rows, b.rows);
  cpu::sgemm({as_length(a.rows), as_length(b.rows), as_length(a.columns)}, as_stored(a),
             as_transposed(b), result.values.data(), as_length(b.rows));
  return result;
}

double dot(const float* a, const float* b, std::size_t count) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i)
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

double length_of(const DenseMatrix& matrix, std::size_t row) {
  return std::sqrt(dot(matrix.row(row), matrix.row(row), matrix.columns));
}

struct RowRange {
  std::size_t first = 0;
  std::size_t end = 0;

  std::size_t count() const { return end - first; }
};

// Subtracts from these rows what lies in the span of all rows before them.
void project_out_earlier(DenseMatrix& matrix, const RowRange& rows) {
  if (rows.first == 0) return;
  const std::int64_t stride = as_length(matrix.columns);
  DenseMatrix shares = zeros(rows.count(), rows.first);
  cpu::sgemm({as_length(rows.count()), as_length(rows.first), stride},
             as_stored(matrix, rows.first), as_transposed(matrix), shares.values.data(),
             as_length(rows.first));
  cpu::sgemm({as_length(rows.count()), stride, as_length(rows.first)}, as_stored(shares),
             as_stored(matrix), matrix.row(rows.first), stride, -1, 1);
}

// Likewise for one row and those from `first` on.
void project_out_neighbours(DenseMatrix& matrix, std::size_t first, std::size_t row) {
  float* own = matrix.row(row);
  for (std::size_t k = first; k < row; ++k) {
    const auto share = static_cast<float>(dot(own, matrix.row(k), matrix.columns));
    for (std::size_t j = 0; j < matrix.columns; ++j) own[j] -= share * matrix.row(k)[j];
  }
}

// Twice over, for the sake of rounding. A row that depends on those before becomes zero.
void orthonormalise_panel(DenseMatrix& matrix, const RowRange& rows) {
  constexpr int kPasses = 2;
  std::vector<double> before;
  for (std::size_t i = rows.first; i < rows.end; ++i) before.push_back(length_of(matrix, i));
  for (int pass = 0; pass < kPasses; ++pass) project_out_earlier(matrix, rows);
  for (std::size_t i = rows.first; i < rows.end; ++i) {
    for (int pass = 0; pass < kPasses; ++pass) project_out_neighbours(matrix, rows.first, i);
    const double length = length_of(matrix, i);
    const double scale = length > 1e-6 * before[i - rows.first] && length > 0 ? 1 / length : 0;
    for (std::size_t j = 0; j < matrix.columns; ++j) matrix.row(i)[j] *= static_cast<float>(scale);
  }
}

// Makes rows orthogonal and of length 1, a few at a time: most of the work is then a product of
// matrices.
void orthonormalise_rows(DenseMatrix& matrix) {
  constexpr std::size_t kPanel = 32;
  for (std::size_t first = 0; first < matrix.rows; first += kPanel) {
    orthonormalise_panel(matrix, {first, std::min(matrix.rows, first + kPanel)});
  }
}

}  // namespace

DenseMatrix transposed_matrix(const DenseMatrix& matrix) {
  DenseMatrix result = zeros(matrix.columns, matrix.rows);
  for (std::size_t i = 0; i < matrix.rows; ++i) {
    for (std::size_t j = 0; j < matrix.columns; ++j) result.row(j)[i] = matrix.row(i)[j];
  }
  return result;
}

MatrixFactors factors_of(const DenseMatrix& matrix, std::size_t rank) {
  constexpr int kRounds = 3;
  std::mt19937 random(0);
  std::normal_distribution<float> normal;
  DenseMatrix basis = zeros(rank, matrix.columns);
  for (float& number : basis.values) number = normal(random);
  basis = product_with_transposed(basis, matrix);  // [r, k]
  orthonormalise_rows(basis);
  for (int round = 0; round < kRounds; ++round) {
    DenseMatrix seen = product_of_matrices(basis, matrix);  // [r, n]
    orthonormalise_rows(seen);
    basis = product_with_transposed(seen, matrix);
    orthonormalise_rows(basis);
  }
  MatrixFactors result{transposed_matrix(basis), product_of_matrices(basis, matrix), 0};
  // |W - A·AᵀW|² = |W|² - |AᵀW|², as the columns of A are orthonormal.
  const double all = dot(matrix.values.data(), matrix.values.data(), matrix.values.size());
  const double kept =
      dot(result.right.values.data(), result.right.values.data(), result.right.values.size());
  result.loss = all > 0 ? std::sqrt(std::max(0.0, all - kept) / all) : 0;
  return result;
}

}  // namespace assay::optimize
