// ConvInputGradient and ConvWeightGradient: the gradients of a convolution's input and weight. They
// have its attributes, and the dimensions of their result.
#include "kernels/convolution.h"
#include "base/text.h"
#include "kernels/families.h"
#include "kernels/lanes.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

Convolution backward_of(const KernelCall& call, const Dims& input, const Dims& weight,
                        const Tensor& gradient) {
  const Convolution convolution = convolution_of(call, input, weight);
  if (gradient.dims() != convolution.output_dims()) {
    call.fail("the gradient is {}, the result {}", join_dims(gradient.dims()),
              join_dims(convolution.output_dims()));
  }
  return convolution;
}

std::vector<Tensor> input_gradient(const KernelCall& call) {
  const Tensor& gradient = call.input(0);
  const Dims dims = call.ints("input_dims");
  const Convolution forward = backward_of(call, dims, call.input(1).dims(), gradient);
  const auto gradients = load_real(call, gradient);
  const auto weights = load_real(call, call.input(1));
  std::vector<double> results(result_elements(call, dims));
  forward.for_each_plane([&](std::int64_t into, std::int64_t by, std::int64_t from) {
    spread_plane(forward.grid, weights.data() + by, gradients.data() + from, results.data() + into);
  });
  return {store_real(gradient.type(), dims, results)};
}

std::vector<double> sums_by_channel(const Tensor& images, const std::vector<double>& values) {
  const std::span<const std::int64_t> dims = images.dims();
  const std::int64_t pixels = product_or_zero(dims.subspan(2));
  std::vector<double> sums(dims[1]);
  for (std::size_t i = 0; i < values.size(); ++i) sums[i / pixels % dims[1]] += values[i];
  return sums;
}

std::vector<Tensor> weight_gradient(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const Tensor& gradient = call.input(1);
  const Dims dims = call.ints("weight_dims");
  const Convolution forward = backward_of(call, input.dims(), dims, gradient);
  const auto gradients = load_real(call, gradient);
  const auto inputs = load_real(call, input);
  std::vector<double> results(result_elements(call, dims));
  const std::int64_t stride = forward.grid.axes[2].stride;
  forward.for_each_plane([&](std::int64_t from, std::int64_t into, std::int64_t by) {
    double* sum = results.data() + into;
    for_each_kernel_tap(forward.grid, [&](const WindowTap& tap) {
      for_each_row(forward.grid, tap, [&](std::int64_t at, std::int64_t window, std::int64_t n) {
        for (std::int64_t x = 0; x < n; ++x)
          *sum += inputs[from + at + x * stride] * gradients[by + window + x];
      });
      ++sum;
    });
  });
  std::vector<Tensor> outputs = {store_real(input.type(), dims, results)};
  if (call.node.has_output(1)) {
    outputs.push_back(store_real(input.type(), {dims[0]}, sums_by_channel(gradient, gradients)));
  }
  return outputs;
}

}  // namespace

void add_convolution_gradient_kernels(KernelTable& table) {
  table["ConvInputGradient"] = input_gradient;
  table["ConvWeightGradient"] = weight_gradient;
}

}  // namespace assay::kernels
