// ReluGradient and SoftmaxGradient: inputs are the op's result and the gradient of it. GeluGradient
// takes the op's input instead of its result.
#include <cmath>
#include <numbers>

#include "base/text.h"
#include "kernels/families.h"
#include "kernels/lanes.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

void check_same_dims(const KernelCall& call) {
  if (call.input(0).dims() == call.input(1).dims()) return;
  call.fail("the result is {}, its gradient {}", join_dims(call.input(0).dims()),
            join_dims(call.input(1).dims()));
}

std::vector<Tensor> relu_gradient(const KernelCall& call) {
  check_same_dims(call);
  const auto results = load_real(call, call.input(0));
  auto gradients = load_real(call, call.input(1));
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!(results[i] > 0)) gradients[i] = 0;
  }
  return {store_real(call.input(1).type(), call.input(1).dims(), gradients)};
}

// Φ(x) + x · φ(x)
double gelu_slope(double x) {
  const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
  return (1 + std::erf(x / std::numbers::sqrt2)) / 2 + x * density;
}

// Of x/2 · (1 + tanh(u)), u = c · (x + k · x³)
double gelu_tanh_slope(double x) {
  constexpr double kCubic = 0.044715;
  const double c = std::sqrt(2 / std::numbers::pi);
  const double tangent = std::tanh(c * x * (1 + kCubic * x * x));
  const double inner = c * (1 + 3 * kCubic * x * x);
  return (1 + tangent + x * (1 - tangent * tangent) * inner) / 2;
}

std::vector<Tensor> gelu_gradient(const KernelCall& call) {
  check_same_dims(call);
  const auto slope =
      call.node.string_or("approximate", "none") == "tanh" ? gelu_tanh_slope : gelu_slope;
  const auto inputs = load_real(call, call.input(0));
  auto gradients = load_real(call, call.input(1));
  for (std::size_t i = 0; i < inputs.size(); ++i) gradients[i] *= slope(inputs[i]);
  return {store_real(call.input(1).type(), call.input(1).dims(), gradients)};
}

// y · (g - sum(g · y))
std::vector<Tensor> softmax_gradient(const KernelCall& call) {
  check_same_dims(call);
  const Dims& dims = call.input(0).dims();
  const std::size_t axis = call.axis(-1, dims.size());
  const auto results = load_real(call, call.input(0));
  auto gradients = load_real(call, call.input(1));
  const double* first = gradients.data();
  for_each_lane(gradients, lanes_along(dims, axis), [&](Lane<double> lane) {
    const double* result = results.data() + (lane.first - first);
    double sum = 0;
    for (std::int64_t i = 0; i < lane.length; ++i) sum += lane[i] * result[i * lane.step];
    for (std::int64_t i = 0; i < lane.length; ++i)
      lane[i] = result[i * lane.step] * (lane[i] - sum);
  });
  return {store_real(call.input(1).type(), dims, gradients)};
}

}  // namespace

void add_activation_gradient_kernels(KernelTable& table) {
  table["ReluGradient"] = relu_gradient;
  table["GeluGradient"] = gelu_gradient;
  table["SoftmaxGradient"] = softmax_gradient;
}

}  // namespace assay::kernels
