// ConvTranspose: every input element spreads the kernel over the output.
#include "base/text.h"
#include "kernels/convolution.h"
#include "kernels/families.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

// The weight is (C, M / group, kernel…).
Convolution transposed_convolution_of(const KernelCall& call, const Tensor& input,
                                      const Tensor& weight) {
  const auto spatial = spatial_dims(call, input.dims());
  Convolution convolution;
  convolution.groups = call.node.int_or("group", 1);
  const bool fits = weight.dims().size() == input.dims().size() && convolution.groups >= 1 &&
                    weight.dims()[0] == input.dims()[1] &&
                    weight.dims()[0] % convolution.groups == 0;
  if (!fits) {
    call.fail("input {} and weight {} in {} groups do not fit", join_dims(input.dims()),
              join_dims(weight.dims()), convolution.groups);
  }
  const auto kernel = std::span<const std::int64_t>(weight.dims()).subspan(2);
  check_kernel_shape(call, kernel);
  convolution.batch = input.dims()[0];
  convolution.inputs_per_group = input.dims()[1] / convolution.groups;
  convolution.outputs_per_group = weight.dims()[1];
  convolution.grid = transposed_window_grid(call, spatial, kernel);
  return convolution;
}

Dims result_dims(const Convolution& convolution) {
  return image_dims(convolution.batch, convolution.output_channels(),
                    convolution.grid.input_dims());
}

std::vector<double> spread(const KernelCall& call, const Convolution& convolution) {
  const auto input = load_real(call, call.input(0));
  const auto weight = load_real(call, call.input(1));
  const WindowGrid& grid = convolution.grid;
  std::vector<double> results(result_elements(call, result_dims(convolution)));
  if (results.empty() || input.empty()) return results;
  const double* from = input.data();
  for (std::int64_t n = 0; n < convolution.batch; ++n) {
    for (std::int64_t c = 0; c < convolution.groups * convolution.inputs_per_group; ++c) {
      const std::int64_t group = c / convolution.inputs_per_group;
      for (std::int64_t m = 0; m < convolution.outputs_per_group; ++m) {
        const std::int64_t plane =
            (n * convolution.groups + group) * convolution.outputs_per_group + m;
        spread_plane(grid,
                     &weight[static_cast<std::size_t>((c * convolution.outputs_per_group + m) *
                                                      grid.taps())],
                     from, &results[static_cast<std::size_t>(plane * grid.input_elements())]);
      }
      from += grid.output_elements();
    }
  }
  return results;
}

std::vector<Tensor> convolve_transposed(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const Convolution convolution = transposed_convolution_of(call, input, call.input(1));
  auto results = spread(call, convolution);
  if (call.has(2) && !results.empty()) {
    add_to_planes(results, load_real(call, 2, convolution.output_channels()),
                  static_cast<std::size_t>(convolution.grid.input_elements()));
  }
  return {store_real(input.type(), result_dims(convolution), results)};
}

}  // namespace

void add_transposed_convolution_kernels(KernelTable& table) {
  table["ConvTranspose"] = convolve_transposed;
}

}  // namespace assay::kernels
