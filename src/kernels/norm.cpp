// LpNormalization, MeanVarianceNormalization and LRN.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "kernels/families.h"
#include "kernels/lane_moments.h"
#include "kernels/lanes.h"
#include "kernels/movement.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

// A lane of zeros stays as it is.
std::vector<Tensor> lp_normalization(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const std::size_t axis = call.axis(-1, input.dims().size());
  const std::int64_t power = call.node.int_or("p", 2);
  if (power != 1 && power != 2) call.fail("p of {} is neither 1 nor 2", power);
  auto values = load_real(call, input);
  for_each_lane(values, lanes_along(input.dims(), axis), [&](Lane<double> lane) {
    double sum = 0;
    for (std::int64_t i = 0; i < lane.length; ++i)
      sum += power == 1 ? std::fabs(lane[i]) : lane[i] * lane[i];
    const double norm = power == 1 ? sum : std::sqrt(sum);
    for (std::int64_t i = 0; i < lane.length && norm != 0; ++i) lane[i] /= norm;
  });
  return {store_real(input.type(), input.dims(), values)};
}

// The axes with the given ones moved to the end, in their order.
Dims moved_to_end(const std::vector<std::size_t>& axes, std::size_t rank) {
  Dims order;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (std::ranges::find(axes, axis) == axes.end()) order.push_back(axis);
  }
  order.insert(order.end(), axes.begin(), axes.end());
  return order;
}

Dims inverted(const Dims& order) {
  Dims inverse(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) inverse[order[i]] = i;
  return inverse;
}

// (x - mean) / (deviation + 1e-9), with the statistics over `axes`.
std::vector<Tensor> mean_variance_normalization(const KernelCall& call) {
  constexpr double kEpsilon = 1e-9;
  const Tensor& input = call.input(0);
  const std::size_t rank = input.dims().size();
  const Dims given = call.node.ints_or("axes", {0, 2, 3});
  const auto axes = normalized_axes(given, rank);
  if (!axes) call.fail("axes {} do not fit rank {}", join_dims(given), rank);
  const Dims order = moved_to_end(*axes, rank);
  const Tensor moved = transposed(call, input, order);
  auto values = load_real(call, moved);
  for_each_lane(values, lanes_from(moved.dims(), rank - axes->size()), [&](Lane<double> lane) {
    const LaneMoments moments = moments_of(lane);
    const double deviation = std::sqrt(moments.variance) + kEpsilon;
    for (std::int64_t i = 0; i < lane.length; ++i) lane[i] = (lane[i] - moments.mean) / deviation;
  });
  const Tensor result = store_real(input.type(), moved.dims(), values);
  return {transposed(call, result, inverted(order))};
}

// x / (bias + alpha / size · Σ x²)^beta, the sum over `size` neighbouring channels.
std::vector<Tensor> local_response_normalization(const KernelCall& call) {
  const Tensor& input = call.input(0);
  if (input.dims().size() < 2) call.fail("needs channels, got {}", join_dims(input.dims()));
  const std::int64_t size = call.node.int_or("size", 0);
  if (size < 1) call.fail("size {} is not positive", size);
  const double alpha = static_cast<double>(call.node.float_or("alpha", 1e-4f));
  const double beta = static_cast<double>(call.node.float_or("beta", 0.75f));
  const double bias = static_cast<double>(call.node.float_or("bias", 1));
  const std::int64_t before = (size - 1) / 2;
  const std::int64_t behind = size - 1 - before;
  auto values = load_real(call, input);
  std::vector<double> originals;
  for_each_lane(values, lanes_along(input.dims(), 1), [&](Lane<double> lane) {
    originals.clear();
    for (std::int64_t c = 0; c < lane.length; ++c) originals.push_back(lane[c]);
    for (std::int64_t c = 0; c < lane.length; ++c) {
      double sum = 0;
      const std::int64_t last = std::min(lane.length - 1 - c, behind) + c;
      for (std::int64_t i = std::max<std::int64_t>(0, c - before); i <= last; ++i)
        sum += originals[i] * originals[i];
      lane[c] /= std::pow(bias + alpha / static_cast<double>(size) * sum, beta);
    }
  });
  return {store_real(input.type(), input.dims(), values)};
}

}  // namespace

void add_norm_kernels(KernelTable& table) {
  table["LpNormalization"] = lp_normalization;
  table["MeanVarianceNormalization"] = mean_variance_normalization;
  table["LRN"] = local_response_normalization;
}

}  // namespace assay::kernels
