// Gemm: alpha · A' · B' + beta · C, before it is rounded to the element type. Shared by Gemm and
// its fused form.
#pragma once

#include "base/text.h"
#include "kernels/elements.h"
#include "kernels/numbers.h"
#include "kernels/product.h"

namespace assay::kernels {

template <typename T, typename Number>
std::vector<T> rounded_to(const std::vector<Number>& values) {
  std::vector<T> results;
  results.reserve(values.size());
  for (const Number value : values) {
    if constexpr (std::is_floating_point_v<Number>)
      results.push_back(from_real<T>(value));
    else
      results.push_back(static_cast<T>(value));
  }
  return results;
}

struct GemmResult {
  Dims dims = {};
  std::vector<double> values = {};
};

// values += beta · C, with C broadcast to the result.
template <typename T>
void add_scaled(const KernelCall& call, const Tensor& addend, double beta, GemmResult& result) {
  if (addend.type() != call.input(0).type()) call.fail("C is of another type than A");
  const auto common = broadcast_dims(result.dims, addend.dims());
  if (common != result.dims)
    call.fail("C of {} does not fit {}", join_dims(addend.dims()), join_dims(result.dims));
  const Dims strides = broadcast_strides(addend.dims(), result.dims);
  const auto numbers = load<T>(addend);
  for_each_index(result.dims, [&](std::span<const std::int64_t> index, std::size_t i) {
    const auto from = static_cast<std::size_t>(offset_of(index, strides));
    result.values[i] += beta * static_cast<double>(numbers[from]);
  });
}

template <typename T>
GemmResult gemm(const KernelCall& call) {
  const Tensor& a = call.input(0);
  const Tensor& b = call.input(1);
  if (a.type() != b.type() || a.dims().size() != 2 || b.dims().size() != 2)
    call.fail("needs two matrices of one type, got {} and {}", join_dims(a.dims()),
              join_dims(b.dims()));
  const BatchedProduct product(
      call, a.dims(), b.dims(),
      {call.node.int_or("transA", 0) != 0, call.node.int_or("transB", 0) != 0});
  const auto sums = product.multiplied(load<T>(a), load<T>(b));
  // Sums of integers are stored as unsigned numbers; T is their type.
  using Signed = std::conditional_t<std::is_unsigned_v<T>, std::uint64_t, std::int64_t>;
  using Read = std::conditional_t<std::is_floating_point_v<T>, double, Signed>;
  const double alpha = static_cast<double>(call.node.float_or("alpha", 1));
  const double beta = static_cast<double>(call.node.float_or("beta", 1));
  GemmResult result = {product.result_dims(), {}};
  result.values.reserve(sums.size());
  for (const auto sum : sums)
    result.values.push_back(alpha * static_cast<double>(static_cast<Read>(sum)));
  if (call.has(2) && beta != 0) add_scaled<T>(call, call.input(2), beta, result);
  return result;
}

}  // namespace assay::kernels
