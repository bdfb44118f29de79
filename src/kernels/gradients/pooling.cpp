// MaxPoolGradient passes each gradient to the maximum of its window, AveragePoolGradient divides it
// among all elements.
#include "kernels/pooling.h"
#include "kernels/families.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

// Adds `give(plane's first element, window, gradient, results)` up over all windows.
template <typename Give>
std::vector<Tensor> given_back(const KernelCall& call, const Dims& dims, const Tensor& gradient,
                               Give give) {
  const WindowGrid grid = pooling_grid(call, dims);
  if (gradient.dims() != image_dims(dims[0], dims[1], grid.output_dims()))
    call.fail("the gradient does not fit the windows");
  const auto gradients = load_real(call, gradient);
  std::vector<double> results(result_elements(call, dims));
  const std::int64_t planes = gradients.empty() ? 0 : dims[0] * dims[1];
  for_each_window(grid, planes, [&](std::int64_t i, std::int64_t plane, const Window& window) {
    give(plane, window, gradients[i], results);
  });
  return {store_real(gradient.type(), dims, results)};
}

std::vector<Tensor> max_pool_gradient(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const auto values = load_real(call, input);
  return given_back(call, input.dims(), call.input(1),
                    [&](std::int64_t plane, const Window& window, double gradient, auto& results) {
                      const std::int64_t best = greatest_in(window, values.data() + plane);
                      if (best >= 0) results[plane + best] += gradient;
                    });
}

std::vector<Tensor> average_pool_gradient(const KernelCall& call) {
  return given_back(
      call, call.ints("input_dims"), call.input(0),
      [&](std::int64_t plane, const Window& window, double gradient, auto& results) {
        const double share = gradient / static_cast<double>(averaged_taps(call, window));
        window.for_each_tap([&](std::int64_t place) { results[plane + place] += share; });
      });
}

}  // namespace

void add_pooling_gradient_kernels(KernelTable& table) {
  table["MaxPoolGradient"] = max_pool_gradient;
  table["AveragePoolGradient"] = average_pool_gradient;
}

}  // namespace assay::kernels
