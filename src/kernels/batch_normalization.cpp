// BatchNormalization, by stored statistics or, in training, by those of the batch; and
// InstanceNormalization, by those of every plane.
#include <algorithm>

#include "base/text.h"
#include "graph/node_kinds.h"
#include "kernels/families.h"
#include "kernels/lane_moments.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

struct Statistics {
  std::vector<double> mean = {};
  std::vector<double> variance = {};
};

// How parameters map to elements: each one applies to `run` consecutive elements.
struct Spread {
  std::int64_t parameters = 1;
  std::int64_t run = 1;

  std::size_t of(std::size_t element) const {
    return element / static_cast<std::size_t>(run) % static_cast<std::size_t>(parameters);
  }
};

// Before opset 9 there might be a parameter for every element of a sample.
Spread spread_of(const KernelCall& call, const Tensor& input) {
  const std::span<const std::int64_t> dims = input.dims();
  if (dims.empty()) call.fail("needs at least one axis");
  if (dims.size() == 1) return {1, 1};
  const bool is_per_element = call.opset < 9 && call.node.int_or("spatial", 1) == 0;
  if (is_per_element) return {product_or_zero(dims.subspan(1)), 1};
  return {dims[1], product_or_zero(dims.subspan(2))};
}

Statistics statistics_of(const KernelCall& call, const std::vector<double>& values,
                         const Spread& spread) {
  if (values.empty()) call.fail("an empty batch has no statistics");
  Statistics statistics = {std::vector<double>(spread.parameters),
                           std::vector<double>(spread.parameters)};
  const auto count = static_cast<double>(values.size()) / static_cast<double>(spread.parameters);
  for (std::size_t i = 0; i < values.size(); ++i) statistics.mean[spread.of(i)] += values[i];
  for (double& mean : statistics.mean) mean /= count;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double distance = values[i] - statistics.mean[spread.of(i)];
    statistics.variance[spread.of(i)] += distance * distance;
  }
  for (double& variance : statistics.variance) variance /= count;
  return statistics;
}

std::vector<double> normalized(const KernelCall& call, std::vector<double> values,
                               const Spread& spread, const Statistics& statistics) {
  const auto scale = load_real(call, 1, spread.parameters);
  const auto bias = load_real(call, 2, spread.parameters);
  const double epsilon = static_cast<double>(call.node.float_or("epsilon", 1e-5f));
  std::vector<double> factors(scale.size());
  for (std::size_t c = 0; c < factors.size(); ++c)
    factors[c] = scale[c] / std::sqrt(statistics.variance[c] + epsilon);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t c = spread.of(i);
    values[i] = (values[i] - statistics.mean[c]) * factors[c] + bias[c];
  }
  return values;
}

// running · momentum + of the batch · (1 - momentum)
Tensor updated(const KernelCall& call, std::size_t input, const std::vector<double>& of_batch) {
  const Tensor& running = call.input(input);
  const double momentum = static_cast<double>(call.node.float_or("momentum", 0.9f));
  auto values = load_real(call, running);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = values[i] * momentum + of_batch[i] * (1 - momentum);
  return store_real(running.type(), running.dims(), values);
}

std::vector<Tensor> batch_normalization(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const Spread spread = spread_of(call, input);
  const auto values = load_real(call, input);
  const Statistics stored = {load_real(call, 3, spread.parameters),
                             load_real(call, 4, spread.parameters)};
  if (!graph::is_training_batch_norm(call.node, call.opset)) {
    const auto results = normalized(call, values, spread, stored);
    return {store_real(input.type(), input.dims(), results), call.input(3), call.input(4)};
  }
  const Statistics own = statistics_of(call, values, spread);
  const auto results = normalized(call, values, spread, own);
  const Dims& dims = call.input(3).dims();
  const DataType type = call.input(3).type();
  return {store_real(input.type(), input.dims(), results), updated(call, 3, own.mean),
          updated(call, 4, own.variance), store_real(type, dims, own.mean),
          store_real(type, dims, own.variance)};
}

std::vector<Tensor> instance_normalization(const KernelCall& call) {
  const Tensor& input = call.input(0);
  if (input.dims().size() < 3) call.fail("needs spatial axes, got {}", join_dims(input.dims()));
  const std::int64_t channels = input.dims()[1];
  const auto scale = load_real(call, 1, channels);
  const auto bias = load_real(call, 2, channels);
  const double epsilon = static_cast<double>(call.node.float_or("epsilon", 1e-5f));
  auto values = load_real(call, input);
  std::size_t plane = 0;
  for_each_lane(values, lanes_from(input.dims(), 2), [&](Lane<double> lane) {
    const std::size_t c = plane++ % scale.size();
    const LaneMoments moments = moments_of(lane);
    const double factor = scale[c] * moments.inverse_deviation(epsilon);
    for (std::int64_t i = 0; i < lane.length; ++i)
      lane[i] = (lane[i] - moments.mean) * factor + bias[c];
  });
  return {store_real(input.type(), input.dims(), values)};
}

}  // namespace

void add_batch_normalization_kernels(KernelTable& table) {
  table["BatchNormalization"] = batch_normalization;
  table["InstanceNormalization"] = instance_normalization;
}

}  // namespace assay::kernels
