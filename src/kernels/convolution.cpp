#include "kernels/convolution.h"

#include "base/text.h"
#include "kernels/families.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

std::int64_t group_of(const KernelCall& call) {
  const std::int64_t group = call.node.int_or("group", 1);
  if (group < 1) call.fail("group {} is not positive", group);
  return group;
}

// output += weight · input, for one plane of input and output each.
template <typename Number>
void add_plane(const WindowGrid& grid, const Number* weights, const Number* input, Number* output) {
  const std::int64_t stride = grid.axes[2].stride;
  for_each_kernel_tap(grid, [&](const WindowTap& tap) {
    const Number weight = *weights++;
    for_each_row(grid, tap, [&](std::int64_t from, std::int64_t to, std::int64_t count) {
      const Number* elements = input + from;
      Number* sums = output + to;
      for (std::int64_t x = 0; x < count; ++x) sums[x] += weight * elements[x * stride];
    });
  });
}

std::vector<Tensor> convolve(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const Convolution convolution = convolution_of(call, input.dims(), call.input(1).dims());
  const auto results = convolved_with_bias(call, convolution);
  return {store_real(input.type(), convolution.output_dims(), results)};
}

}  // namespace

Dims Convolution::output_dims() const {
  return image_dims(batch, output_channels(), grid.output_dims());
}

Convolution convolution_of(const KernelCall& call, const Dims& input, const Dims& weight) {
  const auto spatial = spatial_dims(call, input);
  if (weight.size() != input.size()) {
    call.fail("input is {}, weight is {}: ranks differ", join_dims(input), join_dims(weight));
  }
  const auto kernel = std::span(weight).subspan(2);
  check_kernel_shape(call, kernel);
  Convolution convolution;
  convolution.groups = group_of(call);
  convolution.batch = input[0];
  convolution.inputs_per_group = weight[1];
  convolution.outputs_per_group = weight[0] / convolution.groups;
  const bool channels_fit =
      input[1] % convolution.groups == 0 && input[1] / convolution.groups == weight[1];
  if (!channels_fit || weight[0] % convolution.groups != 0) {
    call.fail("input has {} channels, weight is {} in {} groups", input[1], join_dims(weight),
              convolution.groups);
  }
  convolution.grid = window_grid(call, spatial, kernel);
  return convolution;
}

template <typename Number>
std::vector<Number> convolved(const KernelCall& call, const Convolution& convolution,
                              const std::vector<Number>& input, const std::vector<Number>& weight) {
  std::vector<Number> results(result_elements(call, convolution.output_dims()));
  if (results.empty() || input.empty()) return results;
  convolution.for_each_plane([&](std::int64_t from, std::int64_t by, std::int64_t to) {
    add_plane(convolution.grid, weight.data() + by, input.data() + from, results.data() + to);
  });
  return results;
}

void spread_plane(const WindowGrid& grid, const double* weights, const double* output,
                  double* input) {
  const std::int64_t stride = grid.axes[2].stride;
  for_each_kernel_tap(grid, [&](const WindowTap& tap) {
    const double weight = *weights++;
    for_each_row(grid, tap, [&](std::int64_t to, std::int64_t from, std::int64_t count) {
      const double* elements = output + from;
      double* sums = input + to;
      for (std::int64_t x = 0; x < count; ++x) sums[x * stride] += weight * elements[x];
    });
  });
}

template std::vector<double> convolved(const KernelCall&, const Convolution&,
                                       const std::vector<double>&, const std::vector<double>&);
template std::vector<std::uint64_t> convolved(const KernelCall&, const Convolution&,
                                              const std::vector<std::uint64_t>&,
                                              const std::vector<std::uint64_t>&);

std::vector<double> convolved_with_bias(const KernelCall& call, const Convolution& convolution) {
  auto results =
      convolved(call, convolution, load_real(call, call.input(0)), load_real(call, call.input(1)));
  if (call.has(2) && !results.empty()) {
    add_to_planes(results, load_real(call, 2, convolution.output_channels()),
                  static_cast<std::size_t>(convolution.grid.output_elements()));
  }
  return results;
}

void add_convolution_kernels(KernelTable& table) {
  table["Conv"] = convolve;
}

}  // namespace assay::kernels
