// MaxPool, AveragePool and LpPool: one number for every window.
#include <cmath>
#include <limits>

#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/pooling.h"
#include "kernels/real.h"
#include "kernels/window_grid.h"

namespace assay::kernels {

namespace {

Dims pooled_dims(const Tensor& input, const WindowGrid& grid) {
  return image_dims(input.dims()[0], input.dims()[1], grid.output_dims());
}

// The position of an element in the plane if its first axis were the fastest.
std::int64_t column_major(const WindowGrid& grid, std::int64_t place) {
  const auto& [depth, height, width] = grid.axes;
  const std::int64_t x = place % width.input;
  const std::int64_t y = place / width.input % height.input;
  const std::int64_t z = place / width.input / height.input;
  return z + depth.input * (y + height.input * x);
}

template <typename T>
struct Maxima {
  std::vector<T> values;
  std::vector<std::int64_t> places;  // in the whole input; -1 for a window that is all padding
};

template <typename T>
Maxima<T> maxima_of(const WindowGrid& grid, const std::vector<T>& values, std::int64_t planes,
                    std::size_t count, bool by_columns) {
  using Limits = std::numeric_limits<T>;
  const T least = Limits::has_infinity ? static_cast<T>(-Limits::infinity()) : Limits::lowest();
  Maxima<T> maxima = {std::vector<T>(count, least), std::vector<std::int64_t>(count, -1)};
  for_each_window(grid, planes, [&](std::int64_t i, std::int64_t plane, const Window& window) {
    const std::int64_t best = greatest_in(window, values.data() + plane);
    if (best < 0) return;
    maxima.values[i] = values[plane + best];
    maxima.places[i] = plane + (by_columns ? column_major(grid, best) : best);
  });
  return maxima;
}

std::vector<Tensor> max_pool(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const WindowGrid grid = pooling_grid(call, input.dims());
  const Dims dims = pooled_dims(input, grid);
  const std::size_t count = result_elements(call, dims);
  const std::int64_t planes = count == 0 ? 0 : dims[0] * dims[1];
  const bool by_columns = call.node.int_or("storage_order", 0) != 0;
  return with_number_type(input.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto maxima = maxima_of(grid, load<T>(input), planes, count, by_columns);
    return std::vector<Tensor>{store<T>(input.type(), dims, maxima.values),
                               Tensor::of_int64(dims, maxima.places)};
  });
}

// `fold(plane's first element, window)` gives the number for a window.
template <typename Fold>
std::vector<Tensor> pooled(const KernelCall& call, Fold fold) {
  const Tensor& input = call.input(0);
  const WindowGrid grid = pooling_grid(call, input.dims());
  const Dims dims = pooled_dims(input, grid);
  std::vector<double> results(result_elements(call, dims));
  const auto values = load_real(call, input);
  const std::int64_t planes = results.empty() ? 0 : dims[0] * dims[1];
  for_each_window(grid, planes, [&](std::int64_t i, std::int64_t plane, const Window& window) {
    results[i] = fold(values.data() + plane, window);
  });
  return {store_real(input.type(), dims, results)};
}

std::vector<Tensor> average_pool(const KernelCall& call) {
  return pooled(call, [&](const double* plane, const Window& window) {
    double sum = 0;
    window.for_each_tap([&](std::int64_t place) { sum += plane[place]; });
    return sum / static_cast<double>(averaged_taps(call, window));
  });
}

std::vector<Tensor> lp_pool(const KernelCall& call) {
  const double power = norm_power(call);
  return pooled(call, [=](const double* plane, const Window& window) {
    double sum = 0;
    window.for_each_tap(
        [&](std::int64_t place) { sum += std::pow(std::fabs(plane[place]), power); });
    return std::pow(sum, 1 / power);
  });
}

}  // namespace

WindowGrid pooling_grid(const KernelCall& call, const Dims& input) {
  const auto spatial = spatial_dims(call, input);
  return window_grid(call, spatial, kernel_shape(call, spatial.size()));
}

std::int64_t averaged_taps(const KernelCall& call, const Window& window) {
  const bool counts_padding = call.node.int_or("count_include_pad", 0) != 0;
  return counts_padding ? window.taps_with_padding() : window.taps_inside();
}

double norm_power(const KernelCall& call) {
  const double power = number_or(call.node, "p", 2);
  if (!(power > 0)) call.fail("p of {} is not positive", power);
  return power;
}

void add_pooling_kernels(KernelTable& table) {
  table["MaxPool"] = max_pool;
  table["AveragePool"] = average_pool;
  table["LpPool"] = lp_pool;
}

}  // namespace assay::kernels
