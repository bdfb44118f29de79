// Det: the determinant of every matrix, by elimination with pivots.
#include <cmath>

#include "base/text.h"
#include "kernels/families.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

double determinant(std::vector<double> matrix, std::size_t size) {
  double product = 1;
  for (std::size_t step = 0; step < size; ++step) {
    std::size_t pivot = step;
    for (std::size_t row = step + 1; row < size; ++row) {
      if (std::fabs(matrix[row * size + step]) > std::fabs(matrix[pivot * size + step]))
        pivot = row;
    }
    const double head = matrix[pivot * size + step];
    if (head == 0) return 0;
    if (pivot != step) {
      product = -product;
      std::swap_ranges(&matrix[pivot * size], &matrix[pivot * size] + size, &matrix[step * size]);
    }
    product *= head;
    for (std::size_t row = step + 1; row < size; ++row) {
      const double factor = matrix[row * size + step] / head;
      for (std::size_t column = step; column < size; ++column)
        matrix[row * size + column] -= factor * matrix[step * size + column];
    }
  }
  return product;
}

std::vector<Tensor> det(const KernelCall& call) {
  const Dims& dims = call.input(0).dims();
  if (dims.size() < 2 || dims.back() != dims[dims.size() - 2])
    call.fail("needs square matrices, got {}", join_dims(dims));
  const Dims result_dims(dims.begin(), dims.end() - 2);
  const auto values = load_real(call, call.input(0));
  const auto size = static_cast<std::size_t>(dims.back());
  std::vector<double> results(size == 0 ? 0 : values.size() / (size * size));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(i * size * size);
    results[i] = determinant({first, first + static_cast<std::ptrdiff_t>(size * size)}, size);
  }
  if (size == 0) results.assign(result_elements(call, result_dims), 1.0);
  return {store_real(call.input(0).type(), result_dims, results)};
}

}  // namespace

void add_determinant_kernels(KernelTable& table) {
  table["Det"] = det;
}

}  // namespace assay::kernels
