// ConvInputGradient and ConvWeightGradient: what a convolution hands back to its input and its
// weight. They carry its attributes, and the dimensions of what they yield.
#include "kernels/families.h"
#include "kernels/real.h"
#include "kernels/window_grid.h"

namespace assay {

namespace {

struct Backward {
  WindowGrid grid = {};
  std::int64_t batch = 0;
  std::int64_t groups = 1;
  std::int64_t inputs_per_group = 0;
  std::int64_t outputs_per_group = 0;

  // Calls `visit(first element of the input's plane, of the weight's, of the output's)`.
  template <typename Visit>
  void for_each_plane(Visit visit) const {
    const std::int64_t outputs = groups * outputs_per_group;
    for (std::int64_t n = 0; n < batch; ++n) {
      for (std::int64_t m = 0; m < outputs; ++m) {
        for (std::int64_t c = 0; c < inputs_per_group; ++c) {
          const std::int64_t channel = (n * groups + m / outputs_per_group) * inputs_per_group + c;
          visit(channel * grid.input_elements(), (m * inputs_per_group + c) * grid.taps(),
                (n * outputs + m) * grid.output_elements());
        }
      }
    }
  }
};

void check(const KernelCall& call, bool is_fitting) {
  if (!is_fitting) call.fail("the dimensions of input, weight and gradient do not fit each other");
}

Backward backward_of(const KernelCall& call, const Dims& input, const Dims& weight,
                     const Dims& gradient) {
  check(call, input.size() >= 3 && input.size() <= 5 && weight.size() == input.size() &&
                  gradient.size() == input.size());
  Backward backward;
  backward.groups = call.node.int_or("group", 1);
  check(call, backward.groups > 0 && weight[0] % backward.groups == 0 &&
                  weight[1] * backward.groups == input[1] && gradient[1] == weight[0] &&
                  gradient[0] == input[0]);
  backward.batch = input[0];
  backward.inputs_per_group = weight[1];
  backward.outputs_per_group = weight[0] / backward.groups;
  backward.grid = window_grid(call, std::span(input).subspan(2), std::span(weight).subspan(2));
  check(call, backward.grid.output_dims() == Dims(gradient.begin() + 2, gradient.end()));
  return backward;
}

std::vector<Tensor> input_gradient(const KernelCall& call) {
  const Tensor& gradient = call.input(0);
  const Tensor& weight = call.input(1);
  const Dims dims = call.ints("input_dims");
  const Backward backward = backward_of(call, dims, weight.dims(), gradient.dims());
  const auto gradients = load_real(call, gradient);
  const auto weights = load_real(call, weight);
  std::vector<double> results(result_elements(call, dims));
  const std::int64_t stride = backward.grid.axes[2].stride;
  backward.for_each_plane([&](std::int64_t into, std::int64_t by, std::int64_t from) {
    const double* tap_weight = weights.data() + by;
    for_each_kernel_tap(backward.grid, [&](const WindowTap& tap) {
      const double factor = *tap_weight++;
      for_each_row(backward.grid, tap, [&](std::int64_t at, std::int64_t window, std::int64_t n) {
        for (std::int64_t x = 0; x < n; ++x)
          results[into + at + x * stride] += factor * gradients[from + window + x];
      });
    });
  });
  return {store_real(gradient.type(), dims, results)};
}

std::vector<Tensor> weight_gradient(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const Tensor& gradient = call.input(1);
  const Dims dims = call.ints("weight_dims");
  const Backward backward = backward_of(call, input.dims(), dims, gradient.dims());
  const auto gradients = load_real(call, gradient);
  const auto inputs = load_real(call, input);
  std::vector<double> results(result_elements(call, dims));
  const std::int64_t stride = backward.grid.axes[2].stride;
  backward.for_each_plane([&](std::int64_t from, std::int64_t into, std::int64_t by) {
    double* sum = results.data() + into;
    for_each_kernel_tap(backward.grid, [&](const WindowTap& tap) {
      for_each_row(backward.grid, tap, [&](std::int64_t at, std::int64_t window, std::int64_t n) {
        for (std::int64_t x = 0; x < n; ++x)
          *sum += inputs[from + at + x * stride] * gradients[by + window + x];
      });
      ++sum;
    });
  });
  return {store_real(input.type(), dims, results)};
}

}  // namespace

void add_convolution_gradient_kernels(KernelTable& table) {
  table["ConvInputGradient"] = input_gradient;
  table["ConvWeightGradient"] = weight_gradient;
}

}  // namespace assay
