// Reductions: ReduceSum, Prod, Max, Min, Mean, the norms and logarithms; ArgMax, ArgMin;
// and CumSum along one.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/folding.h"
#include "kernels/numbers.h"

namespace assay::kernels {

namespace {

// Floating numbers are folded in double and rounded once; integers wrap.
template <typename T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double, T>;

struct Sum {
  template <typename T>
  static T first() {
    return T{0};
  }
  template <typename T>
  T operator()(T a, T b) const {
    return wrapping_sum(a, b);
  }
};
struct SumOfMagnitudes : Sum {
  template <typename T>
  T operator()(T a, T b) const {
    return wrapping_sum(a, b < T{0} ? wrapping_difference(T{0}, b) : b);
  }
};
struct SumOfSquares : Sum {
  template <typename T>
  T operator()(T a, T b) const {
    return wrapping_sum(a, wrapping_product(b, b));
  }
};
struct Product {
  template <typename T>
  static T first() {
    return T{1};
  }
  template <typename T>
  T operator()(T a, T b) const {
    return wrapping_product(a, b);
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
struct GreatestElement {
  template <typename T>
  static T first() {
    return lowest<T>();
  }
  template <typename T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};
struct LeastElement {
  template <typename T>
  static T first() {
    return highest<T>();
  }
  template <typename T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
};

template <typename Op, bool Averages>
std::vector<Tensor> reduce(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const auto folding = folding_of(call);
  if (!folding) return {input};
  return with_number_type(input.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto values = load<T>(input);
    std::vector<Wide<T>> results(folding->results, Op::template first<Wide<T>>());
    folding->for_each(input.dims(), [&](std::size_t to, std::size_t from) {
      results[to] = Op{}(results[to], static_cast<Wide<T>>(values[from]));
    });
    if (Averages && !results.empty()) {
      const auto each = values.size() / results.size();
      if (each == 0 && std::is_integral_v<T>) call.fail("the mean of no integers");
      // Of integers too small to hold how many there are, the quotient is taken in wider ones.
      using Integer = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
      using Quotient = std::conditional_t<std::is_integral_v<T>, Integer, Wide<T>>;
      for (auto& result : results) {
        result = static_cast<Wide<T>>(static_cast<Quotient>(result) / static_cast<Quotient>(each));
      }
    }
    const std::vector<T> rounded(results.begin(), results.end());
    return std::vector<Tensor>{store<T>(input.type(), folding->dims, rounded)};
  });
}

// Folds in double, whatever the type: `map` before adding, `finish` after.
template <typename Map, typename Finish>
std::vector<Tensor> reduce_real(const KernelCall& call, Map map, Finish finish) {
  const Tensor& input = call.input(0);
  const auto folding = folding_of(call);
  if (!folding) return {input};
  const auto values = input.to_double();
  std::vector<double> results(folding->results, 0.0);
  folding->for_each(input.dims(), [&](std::size_t to, std::size_t from) {
    results[to] += map(values[from], to);
  });
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = finish(results[i], i);
  return with_number_type(input.type(), [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> rounded(results.size());
    std::ranges::transform(results, rounded.begin(), from_real<T>);
    return std::vector<Tensor>{store<T>(input.type(), folding->dims, rounded)};
  });
}

std::vector<Tensor> euclidean_norm(const KernelCall& call) {
  return reduce_real(
      call, [](double value, std::size_t) { return value * value; },
      [](double sum, std::size_t) { return std::sqrt(sum); });
}

std::vector<Tensor> log_of_sum(const KernelCall& call) {
  return reduce_real(
      call, [](double value, std::size_t) { return value; },
      [](double sum, std::size_t) { return std::log(sum); });
}

// The largest term is taken out first, so that no exponential overflows.
std::vector<Tensor> log_of_sum_of_exponentials(const KernelCall& call) {
  const auto folding = folding_of(call);
  if (!folding) return {call.input(0)};
  const auto values = call.input(0).to_double();
  constexpr double kLowest = -std::numeric_limits<double>::infinity();
  std::vector<double> largest(folding->results, kLowest);
  folding->for_each(call.input(0).dims(), [&](std::size_t to, std::size_t from) {
    largest[to] = std::max(largest[to], values[from]);
  });
  for (double& number : largest) number = std::isinf(number) ? 0.0 : number;
  return reduce_real(
      call, [&](double value, std::size_t to) { return std::exp(value - largest[to]); },
      [&](double sum, std::size_t to) { return largest[to] + std::log(sum); });
}

struct IsGreater {
  template <typename T>
  bool operator()(T a, T b) const {
    return a > b;
  }
};
struct IsLess {
  template <typename T>
  bool operator()(T a, T b) const {
    return a < b;
  }
};

template <typename Better>
std::vector<Tensor> position_of_best(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const std::size_t axis = call.axis(0, input.dims().size());
  if (input.dims()[axis] == 0) call.fail("axis {} is empty", axis);
  const bool takes_last = call.node.int_or("select_last_index", 0) != 0;
  const bool keeps_axis = call.node.int_or("keepdims", 1) != 0;
  const Folding folding = folding_along(call, input.dims(), {axis}, keeps_axis);
  std::vector<std::int64_t> places(folding.results, 0);
  with_number_type(input.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto values = load<T>(input);
    std::vector<T> best(places.size());
    for_each_index(input.dims(), [&](std::span<const std::int64_t> index, std::size_t i) {
      const auto place = static_cast<std::size_t>(offset_of(index, folding.strides));
      const bool is_better = index[axis] == 0 || Better{}(values[i], best[place]) ||
                             (takes_last && values[i] == best[place]);
      if (!is_better) return;
      best[place] = values[i];
      places[place] = index[axis];
    });
  });
  return {Tensor::of_int64(folding.dims, places)};
}

std::vector<Tensor> cumulative_sum(const KernelCall& call) {
  const Tensor& input = call.input(0);
  if (call.input(1).elements() != 1) call.fail("axis is not a scalar");
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
        const T next = wrapping_sum(sum, values[at]);
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
  table["ReduceMax"] = reduce<GreatestElement, false>;
  table["ReduceMin"] = reduce<LeastElement, false>;
  table["ReduceMean"] = reduce<Sum, true>;
  table["ReduceL1"] = reduce<SumOfMagnitudes, false>;
  table["ReduceSumSquare"] = reduce<SumOfSquares, false>;
  table["ReduceL2"] = euclidean_norm;
  table["ReduceLogSum"] = log_of_sum;
  table["ReduceLogSumExp"] = log_of_sum_of_exponentials;
  table["ArgMax"] = position_of_best<IsGreater>;
  table["ArgMin"] = position_of_best<IsLess>;
  table["CumSum"] = cumulative_sum;
}

}  // namespace assay::kernels
