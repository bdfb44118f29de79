// Softmax, LogSoftmax and Hardmax. Before opset 13 all axes from `axis` on are one lane; since then
// a lane runs along `axis` alone.
#include <cmath>

#include "kernels/families.h"
#include "kernels/lanes.h"
#include "kernels/real.h"

namespace assay::kernels {

void soften(Lane<double> lane) {
  // Subtracting the greatest keeps every exponential at or below 1.
  const double greatest = greatest_of(lane);
  double sum = 0;
  for (std::int64_t i = 0; i < lane.length; ++i) sum += lane[i] = std::exp(lane[i] - greatest);
  for (std::int64_t i = 0; i < lane.length; ++i) lane[i] /= sum;
}

namespace {

Lanes lanes_of(const KernelCall& call, const Tensor& input) {
  const bool flattens = call.opset < 13;
  const std::size_t rank = input.dims().size();
  const std::int64_t given = call.node.int_or("axis", flattens ? 1 : -1);
  const bool is_behind_all = flattens && given == static_cast<std::int64_t>(rank);
  if (is_behind_all) return lanes_from(input.dims(), rank);
  const auto axis = normalized_axis(given, rank);
  if (!axis) call.fail("axis {} is out of range for rank {}", given, rank);
  return flattens ? lanes_from(input.dims(), *axis) : lanes_along(input.dims(), *axis);
}

template <typename Change>
std::vector<Tensor> changed_lanes(const KernelCall& call, Change change) {
  const Tensor& input = call.input(0);
  auto values = load_real(call, input);
  for_each_lane(values, lanes_of(call, input), change);
  return {store_real(input.type(), input.dims(), values)};
}

void soften_to_logarithm(Lane<double> lane) {
  const double greatest = greatest_of(lane);
  double sum = 0;
  for (std::int64_t i = 0; i < lane.length; ++i) sum += std::exp(lane[i] - greatest);
  const double shift = greatest + std::log(sum);
  for (std::int64_t i = 0; i < lane.length; ++i) lane[i] -= shift;
}

// 1 at the first of the greatest, 0 elsewhere.
void harden(Lane<double> lane) {
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < lane.length; ++i) {
    if (lane[i] > lane[best]) best = i;
  }
  for (std::int64_t i = 0; i < lane.length; ++i) lane[i] = i == best ? 1 : 0;
}

template <void (*Change)(Lane<double>)>
std::vector<Tensor> lane_by_lane(const KernelCall& call) {
  return changed_lanes(call, Change);
}

}  // namespace

void add_softmax_kernels(KernelTable& table) {
  table["Softmax"] = lane_by_lane<soften>;
  table["LogSoftmax"] = lane_by_lane<soften_to_logarithm>;
  table["Hardmax"] = lane_by_lane<harden>;
}

}  // namespace assay::kernels
