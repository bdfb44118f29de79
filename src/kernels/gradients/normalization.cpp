// BatchNormalizationGradient (by the statistics of the batch) and LayerNormalizationGradient:
// inputs are the normalised op's input and scale, and the gradient of its result; results are the
// gradients of input, scale and bias.
//
// With n = (x - mean) / deviation and g = gradient · scale, the input's is
// (g - mean(g) - n · mean(g · n)) / deviation.
#include "base/text.h"
#include "kernels/families.h"
#include "kernels/lane_moments.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

// Elements that share their statistics, gathered into one vector.
struct Stretch {
  std::vector<double> values = {};
  std::vector<double> gradients = {};  // of the normalised values, times the scale
};

struct StretchGradient {
  std::vector<double> inputs = {};
  std::vector<double> normalized = {};
};

StretchGradient gradient_of(Stretch stretch, double epsilon) {
  const auto count = static_cast<std::int64_t>(stretch.values.size());
  const LaneMoments moments = moments_of(Lane<double>{stretch.values.data(), count, 1});
  const double inverse = moments.inverse_deviation(epsilon);
  StretchGradient result;
  double sum = 0;
  double projected = 0;
  for (std::size_t i = 0; i < stretch.values.size(); ++i) {
    const double normalized = (stretch.values[i] - moments.mean) * inverse;
    sum += stretch.gradients[i];
    projected += stretch.gradients[i] * normalized;
    result.normalized.push_back(normalized);
  }
  const auto all = static_cast<double>(count);
  for (std::size_t i = 0; i < stretch.values.size(); ++i) {
    const double rest = stretch.gradients[i] - sum / all - result.normalized[i] * projected / all;
    result.inputs.push_back(rest * inverse);
  }
  return result;
}

struct Operands {
  const Tensor& input;
  const Tensor& scale;
  std::vector<double> values;
  std::vector<double> scales;
  std::vector<double> gradients;
};

Operands operands_of(const KernelCall& call) {
  const Tensor& input = call.input(0);
  if (call.input(2).dims() != input.dims())
    call.fail("input is {}, its gradient {}", join_dims(input.dims()),
              join_dims(call.input(2).dims()));
  return {input, call.input(1), load_real(call, input), load_real(call, call.input(1)),
          load_real(call, call.input(2))};
}

std::vector<Tensor> stored(const Operands& operands, const std::vector<double>& inputs,
                           const std::vector<double>& scales, const std::vector<double>& biases) {
  const DataType type = operands.scale.type();
  return {store_real(operands.input.type(), operands.input.dims(), inputs),
          store_real(type, operands.scale.dims(), scales),
          store_real(type, operands.scale.dims(), biases)};
}

double epsilon_of(const KernelCall& call) {
  return static_cast<double>(call.node.float_or("epsilon", 1e-5f));
}

// The group is a channel of all samples.
std::vector<Tensor> batch_normalization_gradient(const KernelCall& call) {
  const Operands operands = operands_of(call);
  const Dims& dims = operands.input.dims();
  if (dims.size() < 2 || operands.scales.size() != static_cast<std::size_t>(dims[1]))
    call.fail("{} scales for an input of {}", operands.scales.size(), join_dims(dims));
  const Lanes channels = lanes_along(dims, 1);
  std::vector<double> inputs(operands.values.size());
  std::vector<double> scales(operands.scales.size());
  std::vector<double> biases(operands.scales.size());
  for (std::int64_t c = 0; c < channels.length; ++c) {
    std::vector<std::size_t> places;
    Stretch stretch;
    for (std::int64_t outer = 0; outer < channels.outer; ++outer) {
      for (std::int64_t inner = 0; inner < channels.inner; ++inner) {
        places.push_back((outer * channels.length + c) * channels.inner + inner);
        stretch.values.push_back(operands.values[places.back()]);
        stretch.gradients.push_back(operands.gradients[places.back()] * operands.scales[c]);
        biases[c] += operands.gradients[places.back()];
      }
    }
    const StretchGradient result = gradient_of(std::move(stretch), epsilon_of(call));
    for (std::size_t i = 0; i < places.size(); ++i) {
      inputs[places[i]] = result.inputs[i];
      scales[c] += operands.gradients[places[i]] * result.normalized[i];
    }
  }
  return stored(operands, inputs, scales, biases);
}

// The group is all axes from `axis` on; the scale has one number for each of its elements.
std::vector<Tensor> layer_normalization_gradient(const KernelCall& call) {
  const Operands operands = operands_of(call);
  const Dims& dims = operands.input.dims();
  const std::size_t axis = call.axis(-1, dims.size());
  const Lanes lanes = lanes_from(dims, axis);
  const auto length = static_cast<std::size_t>(lanes.length);
  if (operands.scales.size() != length)
    call.fail("{} scales for {} elements", operands.scales.size(), length);
  std::vector<double> inputs;
  std::vector<double> scales(length);
  std::vector<double> biases(length);
  for (std::size_t first = 0; first < operands.values.size(); first += length) {
    Stretch stretch;
    for (std::size_t i = 0; i < length; ++i) {
      stretch.values.push_back(operands.values[first + i]);
      stretch.gradients.push_back(operands.gradients[first + i] * operands.scales[i]);
      biases[i] += operands.gradients[first + i];
    }
    const StretchGradient result = gradient_of(std::move(stretch), epsilon_of(call));
    for (std::size_t i = 0; i < length; ++i)
      scales[i] += operands.gradients[first + i] * result.normalized[i];
    inputs.insert(inputs.end(), result.inputs.begin(), result.inputs.end());
  }
  return stored(operands, inputs, scales, biases);
}

}  // namespace

void add_normalization_gradient_kernels(KernelTable& table) {
  table["BatchNormalizationGradient"] = batch_normalization_gradient;
  table["LayerNormalizationGradient"] = layer_normalization_gradient;
}

}  // namespace assay::kernels
