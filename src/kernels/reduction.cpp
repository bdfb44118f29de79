// Axes folded into one: ReduceSum, Prod, Max, Min, Mean; ArgMax, ArgMin; and CumSum along one.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/movement.h"

namespace assay {

namespace {

template <typename T>
T sum_of(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  } else {
    return a + b;
  }
}

struct Sum {
  template <typename T>
  static T first() {
    return T{0};
  }
  template <typename T>
  T operator()(T a, T b) const {
    return sum_of(a, b);
  }
};
struct Product {
  template <typename T>
  static T first() {
    return T{1};
  }
  template <typename T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else
      return a * b;
  }
};
template <typename T>
constexpr T lowest() {
  if constexpr (std::is_floating_point_v<T>)
    return -std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::lowest();
}
template <typename T>
constexpr T highest() {
  if constexpr (std::is_floating_point_v<T>)
    return std::numeric_limits<T>::infinity();
  else
    return std::numeric_limits<T>::max();
}
struct Greatest {
  template <typename T>
  static T first() {
    return lowest<T>();
  }
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct Least {
  template <typename T>
  static T first() {
    return highest<T>();
  }
  template <typename T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

// The axes to fold; nothing when the op is to do nothing.
std::optional<std::vector<std::size_t>> folded_axes(const KernelCall& call, std::size_t rank) {
  const auto axes = axes_of(call, 1);
  if (axes && !axes->empty()) {
    auto chosen = normalized_axes(*axes, rank);
    if (!chosen) call.fail("axes {} do not fit rank {}", join_dims(*axes), rank);
    return chosen;
  }
  if (call.node.int_or("noop_with_empty_axes", 0) != 0) return std::nullopt;
  std::vector<std::size_t> all(rank);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

Dims without_axes(const Dims& dims, const std::vector<std::size_t>& axes, bool keeps) {
  Dims result;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const bool is_folded = std::ranges::find(axes, axis) != axes.end();
    if (!is_folded)
      result.push_back(dims[axis]);
    else if (keeps)
      result.push_back(1);
  }
  return result;
}

// Strides into the result with the folded axes kept as 1: those repeat.
Dims folded_strides(const Dims& dims, const std::vector<std::size_t>& axes) {
  return broadcast_strides(without_axes(dims, axes, true), dims);
}

template <typename Op, bool Averages>
std::vector<Tensor> reduce(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const auto axes = folded_axes(call, input.dims().size());
  if (!axes) return {input};
  const Dims dims = without_axes(input.dims(), *axes, call.node.int_or("keepdims", 1) != 0);
  const auto count = checked_product(dims);
  if (!count) call.fail("the result is too large");
  // Folding no axis takes every element as it is; a size-1 axis among the folded repeats as well.
  const Dims strides = folded_strides(input.dims(), *axes);
  return with_number_type(input.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto values = load<T>(input);
    std::vector<T> results(static_cast<std::size_t>(*count), Op::template first<T>());
    for_each_index(input.dims(), [&](std::span<const std::int64_t> index, std::size_t i) {
      T& result = results[static_cast<std::size_t>(offset_of(index, strides))];
      result = Op{}(result, values[i]);
    });
    if (Averages && !results.empty()) {
      const auto each = values.size() / results.size();
      if (each == 0 && std::is_integral_v<T>) call.fail("the mean of no integers");
      for (T& result : results) result = static_cast<T>(result / static_cast<T>(each));
    }
    return std::vector<Tensor>{store<T>(input.type(), dims, results)};
  });
}

struct Greater {
  template <typename T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct Less {
  template <typename T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};

template <typename Better>
std::vector<Tensor> position_of_best(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const auto axis = normalized_axis(call.node.int_or("axis", 0), input.dims().size());
  if (!axis) call.fail("axis {} is out of range", call.node.int_or("axis", 0));
  if (input.dims()[*axis] == 0) call.fail("axis {} is empty", *axis);
  const bool takes_last = call.node.int_or("select_last_index", 0) != 0;
  const Dims dims = without_axes(input.dims(), {*axis}, call.node.int_or("keepdims", 1) != 0);
  const auto count = checked_product(dims);
  if (!count) call.fail("the result is too large");
  const Dims strides = folded_strides(input.dims(), {*axis});
  std::vector<std::int64_t> places(static_cast<std::size_t>(*count), 0);
  with_number_type(input.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto values = load<T>(input);
    std::vector<T> best(places.size());
    for_each_index(input.dims(), [&](std::span<const std::int64_t> index, std::size_t i) {
      const auto place = static_cast<std::size_t>(offset_of(index, strides));
      const bool is_better = index[*axis] == 0 || Better{}(values[i], best[place]) ||
                             (takes_last && values[i] == best[place]);
      if (!is_better) return;
      best[place] = values[i];
      places[place] = index[*axis];
    });
  });
  return {Tensor::of_int64(dims, places)};
}

std::vector<Tensor> cumulative_sum(const KernelCall& call) {
  const Tensor& input = call.input(0);
  if (call.input(1).elements() != 1) call.fail("axis is no scalar");
  const std::int64_t wanted = call.input(1).to_int64().front();
  const auto axis = normalized_axis(wanted, input.dims().size());
  if (!axis) call.fail("axis {} is out of range", wanted);
  const bool excludes = call.node.int_or("exclusive", 0) != 0;
  const bool reverses = call.node.int_or("reverse", 0) != 0;
  const std::int64_t length = input.dims()[*axis];
  const std::int64_t stride = row_major_strides(input.dims())[*axis];
  return with_number_type(input.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto values = load<T>(input);
    std::vector<T> results(values.size());
    for_each_index(input.dims(), [&](std::span<const std::int64_t> index, std::size_t i) {
      if (index[*axis] != 0) return;
      T sum{0};
      for (std::int64_t step = 0; step < length; ++step) {
        const std::int64_t along = reverses ? length - 1 - step : step;
        const std::size_t at = i + static_cast<std::size_t>(along * stride);
        const T next = sum_of(sum, values[at]);
        results[at] = excludes ? sum : next;
        sum = next;
      }
    });
    return std::vector<Tensor>{store<T>(input.type(), input.dims(), results)};
  });
}

}  // namespace

void add_reduction_kernels(KernelTable& table) {
  table["ReduceSum"] = reduce<Sum, false>;
  table["ReduceProd"] = reduce<Product, false>;
  table["ReduceMax"] = reduce<Greatest, false>;
  table["ReduceMin"] = reduce<Least, false>;
  table["ReduceMean"] = reduce<Sum, true>;
  table["ArgMax"] = position_of_best<Greater>;
  table["ArgMin"] = position_of_best<Less>;
  table["CumSum"] = cumulative_sum;
}

}  // namespace assay
