// A matrix as the product of two thinner ones.
#pragma once

#include <cstddef>
#include <vector>

namespace assay::optimize {

struct DenseMatrix {
  std::size_t rows = 0;
  std::size_t columns = 0;
  std::vector<float> values = {};  // row by row

  float* row(std::size_t i) { return values.data() + i * columns; }
  const float* row(std::size_t i) const { return values.data() + i * columns; }
};

DenseMatrix transposed_matrix(const DenseMatrix& matrix);

struct MatrixFactors {
  DenseMatrix left = {};   // [k, r], its columns of length 1
  DenseMatrix right = {};  // [r, n]
  double loss = 0;         // |W - A·B| / |W|
};

// Subspace iteration from random rows (Halko, Martinsson and Tropp, 2011): a few rounds suffice.
MatrixFactors factors_of(const DenseMatrix& matrix, std::size_t rank);

}  // namespace assay::optimize
