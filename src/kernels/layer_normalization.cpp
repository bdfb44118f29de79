#include "kernels/layer_normalization.h"

#include <algorithm>

#include "base/text.h"
#include "kernels/families.h"
#include "kernels/lane_moments.h"
#include "kernels/real.h"

namespace assay::kernels {

LaneStatistics normalize_lanes(std::vector<double>& values, const Lanes& lanes, double epsilon,
                               bool keeps_mean) {
  LaneStatistics statistics;
  for_each_lane(values, lanes, [&](Lane<double> lane) {
    LaneMoments moments = moments_of(lane);
    if (keeps_mean) moments = {0, moments.variance + moments.mean * moments.mean};
    const double inverse = moments.inverse_deviation(epsilon);
    for (std::int64_t i = 0; i < lane.length; ++i) lane[i] = (lane[i] - moments.mean) * inverse;
    statistics.mean.push_back(moments.mean);
    statistics.inverse_deviation.push_back(inverse);
  });
  return statistics;
}

namespace {

// The type that statistics are given in.
DataType statistics_type(const KernelCall& call) {
  const auto type = data_type_from_onnx(call.node.int_or("stash_type", 1));
  if (!type || !is_floating(*type) || bits(*type) < 16)
    call.fail("stash_type {} is not a floating-point type", call.node.int_or("stash_type", 1));
  return *type;
}

std::size_t first_axis(const KernelCall& call, const Tensor& input) {
  const std::int64_t given = call.node.int_or("axis", -1);
  const auto axis = normalized_axis(given, input.dims().size());
  if (!axis) call.fail("axis {} is out of range for {}", given, join_dims(input.dims()));
  return *axis;
}

double lane_epsilon(const KernelCall& call) {
  return static_cast<double>(call.node.float_or("epsilon", 1e-5f));
}

}  // namespace

void scale_and_shift(const KernelCall& call, std::vector<double>& values, const Dims& dims,
                     std::size_t scale, std::size_t bias) {
  change_by_input(call, scale, dims, values, [](double& value, double by) { value *= by; });
  change_by_input(call, bias, dims, values, [](double& value, double by) { value += by; });
}

namespace {

struct NormalizedLayer {
  Tensor result = {};
  std::vector<Tensor> statistics = {};  // mean and inverse deviation; none without elements
};

NormalizedLayer normalized_layer(const KernelCall& call, bool keeps_mean) {
  const Tensor& input = call.input(0);
  const std::size_t axis = first_axis(call, input);
  const DataType type = statistics_type(call);
  auto values = load_real(call, input);
  const auto statistics =
      normalize_lanes(values, lanes_from(input.dims(), axis), lane_epsilon(call), keeps_mean);
  scale_and_shift(call, values, input.dims(), 1, 2);
  NormalizedLayer layer = {store_real(input.type(), input.dims(), values), {}};
  if (statistics.mean.empty()) return layer;
  Dims reduced = input.dims();
  std::fill(reduced.begin() + axis, reduced.end(), 1);
  layer.statistics = {store_real(type, reduced, statistics.mean),
                      store_real(type, reduced, statistics.inverse_deviation)};
  return layer;
}

}  // namespace

std::vector<Tensor> layer_normalization(const KernelCall& call) {
  const NormalizedLayer layer = normalized_layer(call, false);
  if (layer.statistics.empty()) return {layer.result};
  return {layer.result, layer.statistics[0], layer.statistics[1]};
}

std::vector<Tensor> simplified_layer_normalization(const KernelCall& call) {
  const NormalizedLayer layer = normalized_layer(call, true);
  if (layer.statistics.empty()) return {layer.result};
  return {layer.result, layer.statistics[1]};
}

namespace {

// Scale and bias are given for every group before opset 21, for every channel since.
std::vector<Tensor> group_normalization(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const Dims& dims = input.dims();
  const std::int64_t groups = call.node.int_or("num_groups", 0);
  if (dims.size() < 2 || groups < 1 || dims[1] % groups != 0)
    call.fail("{} groups do not divide the channels of {}", groups, join_dims(dims));
  const bool is_per_channel = call.opset >= 21;
  const std::int64_t parameters = is_per_channel ? dims[1] : groups;
  const auto scale = load_real(call, 1, parameters);
  const auto bias = load_real(call, 2, parameters);
  auto values = load_real(call, input);
  if (values.empty()) return {input};
  const std::int64_t samples = dims[0];
  const std::int64_t group_size = input.elements() / samples / groups;
  normalize_lanes(values, {samples * groups, group_size, 1}, lane_epsilon(call));
  const std::size_t run = input.elements() / samples / parameters;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t parameter = i / run % scale.size();
    values[i] = values[i] * scale[parameter] + bias[parameter];
  }
  return {store_real(input.type(), dims, values)};
}

}  // namespace

void add_layer_normalization_kernels(KernelTable& table) {
  table["LayerNormalization"] = layer_normalization;
  table["SimplifiedLayerNormalization"] = simplified_layer_normalization;
  table["GroupNormalization"] = group_normalization;
}

}  // namespace assay::kernels
