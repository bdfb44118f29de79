// Elements chosen by what or where they are: NonZero, Trilu, TopK.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/movement.h"

namespace assay::kernels {

namespace {

std::vector<Tensor> non_zero(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const auto values = input.to_double();  // exact enough: only zero converts to zero
  const Dims dims = input.dims().empty() ? Dims{1} : input.dims();
  std::vector<Dims> found;
  for_each_index(dims, [&](std::span<const std::int64_t> index, std::size_t i) {
    if (values[i] != 0) found.emplace_back(index.begin(), index.end());
  });
  std::vector<std::int64_t> columns;
  for (std::size_t axis = 0; axis < input.dims().size(); ++axis) {
    for (const Dims& index : found) columns.push_back(index[axis]);
  }
  return {Tensor::of_int64(
      {static_cast<std::int64_t>(input.dims().size()), static_cast<std::int64_t>(found.size())},
      columns)};
}

std::vector<Tensor> triangle(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const std::size_t rank = input.dims().size();
  if (rank < 2) call.fail("needs a matrix, got {}", join_dims(input.dims()));
  if (call.has(1) && call.input(1).elements() != 1) call.fail("k is not a scalar");
  const std::int64_t diagonal = call.has(1) ? call.input(1).to_int64().front() : 0;
  const bool is_upper = call.node.int_or("upper", 1) != 0;
  ElementWriter result(call, input.type(), input.dims());
  for_each_index(input.dims(), [&](std::span<const std::int64_t> index, std::size_t i) {
    const std::int64_t off = index[rank - 1] - index[rank - 2];
    if (is_upper ? off >= diagonal : off <= diagonal)
      result.copy(i, input, static_cast<std::int64_t>(i));
  });
  return {result.finish()};
}

struct TopSettings {
  std::size_t axis = 0;
  std::int64_t count = 0;
  bool largest = true;
};

TopSettings top_settings(const KernelCall& call) {
  const Dims& dims = call.input(0).dims();
  const std::size_t axis = call.axis(-1, dims.size());
  if (call.has(1) && call.input(1).elements() != 1) call.fail("k is not a scalar");
  const std::int64_t count =
      call.has(1) ? call.input(1).to_int64().front() : call.node.int_or("k", 0);
  if (count < 0 || count > dims[axis])
    call.fail("k is {}, axis {} has {}", count, axis, dims[axis]);
  return {axis, count, call.node.int_or("largest", 1) != 0};
}

// Ties go to the lower index; NaN counts as the largest number.
template <typename T>
std::vector<std::int64_t> ranked(const std::vector<T>& values, std::size_t start,
                                 std::int64_t stride, std::int64_t length, bool largest) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(length));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const auto value = [&](std::int64_t i) {
    return values[start + static_cast<std::size_t>(i * stride)];
  };
  const auto is_less = [](T a, T b) { return a < b || (b != b && a == a); };
  std::ranges::stable_sort(order, [&](std::int64_t a, std::int64_t b) {
    return largest ? is_less(value(b), value(a)) : is_less(value(a), value(b));
  });
  return order;
}

std::vector<Tensor> top_k(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const TopSettings top = top_settings(call);
  const Dims strides = row_major_strides(input.dims());
  Dims dims = input.dims();
  dims[top.axis] = top.count;
  const Dims result_strides = row_major_strides(dims);
  return with_number_type(input.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto values = load<T>(input);
    const auto elements = checked_product(dims);
    std::vector<T> best(static_cast<std::size_t>(elements.value_or(0)));
    std::vector<std::int64_t> places(best.size());
    Dims lanes = input.dims();
    lanes[top.axis] = lanes[top.axis] == 0 ? 0 : 1;
    for_each_index(lanes, [&](std::span<const std::int64_t> index, std::size_t) {
      const auto start = static_cast<std::size_t>(offset_of(index, strides));
      const auto order =
          ranked(values, start, strides[top.axis], input.dims()[top.axis], top.largest);
      for (std::int64_t i = 0; i < top.count; ++i) {
        const auto to = static_cast<std::size_t>(offset_of(index, result_strides) +
                                                 i * result_strides[top.axis]);
        places[to] = order[static_cast<std::size_t>(i)];
        best[to] = values[start + static_cast<std::size_t>(places[to] * strides[top.axis])];
      }
    });
    return std::vector<Tensor>{store<T>(input.type(), dims, best), Tensor::of_int64(dims, places)};
  });
}

}  // namespace

void add_selection_kernels(KernelTable& table) {
  table["NonZero"] = non_zero;
  table["Trilu"] = triangle;
  table["TopK"] = top_k;
}

}  // namespace assay::kernels
