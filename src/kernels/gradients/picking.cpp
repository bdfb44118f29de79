// GatherGradient adds each gradient at the position its element was gathered from; SliceGradient
// writes it at the position it was sliced from. The rest is zero.
#include "base/checked.h"
#include "base/text.h"
#include "kernels/families.h"
#include "kernels/indices.h"
#include "kernels/lanes.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

std::vector<Tensor> gather_gradient(const KernelCall& call) {
  const auto indices = call.input(0).to_int64();
  const Tensor& gradient = call.input(1);
  const Dims dims = call.ints("input_dims");
  const std::size_t axis = call.axis(0, dims.size());
  const Lanes lanes = lanes_along(dims, axis);
  const auto gradients = load_real(call, gradient);
  const auto picked = static_cast<std::int64_t>(indices.size());
  if (static_cast<std::int64_t>(gradients.size()) != lanes.outer * picked * lanes.inner)
    call.fail("the gradient {} does not fit {} indices", join_dims(gradient.dims()), picked);
  std::vector<double> results(result_elements(call, dims));
  for (std::int64_t outer = 0; outer < lanes.outer; ++outer) {
    for (std::int64_t i = 0; i < picked; ++i) {
      const std::int64_t index = checked_index(call, indices[i], lanes.length);
      for (std::int64_t inner = 0; inner < lanes.inner; ++inner) {
        results[(outer * lanes.length + index) * lanes.inner + inner] +=
            gradients[(outer * picked + i) * lanes.inner + inner];
      }
    }
  }
  return {store_real(gradient.type(), dims, results)};
}

// `starts` and `steps` are given for every axis.
std::vector<Tensor> slice_gradient(const KernelCall& call) {
  const Tensor& gradient = call.input(0);
  const Dims dims = call.ints("input_dims");
  const Dims starts = call.ints("starts");
  const Dims steps = call.ints("steps");
  if (starts.size() != dims.size() || steps.size() != dims.size() ||
      gradient.dims().size() != dims.size()) {
    call.fail("starts and steps must be given for every axis");
  }
  std::vector<double> results(result_elements(call, dims));
  const Dims strides = row_major_strides(dims);
  std::int64_t first = 0;
  Dims walked;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const auto extent = checked_multiply(steps[i], gradient.dims()[i] - 1);
    const bool starts_inside = starts[i] >= 0 && starts[i] < dims[i];
    const bool is_inside =
        starts_inside && extent && *extent >= -starts[i] && *extent < dims[i] - starts[i];
    if (gradient.dims()[i] > 0 && !is_inside) call.fail("axis {} is cut outside of it", i);
    if (gradient.dims()[i] == 0) return {store_real(gradient.type(), dims, results)};
    first += starts[i] * strides[i];
    walked.push_back(gradient.dims()[i] == 1 ? 0 : steps[i] * strides[i]);
  }
  const auto gradients = load_real(call, gradient);
  const StridedWalk<1> walk(gradient.dims(), {walked});
  walk.for_each([&](std::size_t i, auto at) { results[first + at[0]] = gradients[i]; });
  return {store_real(gradient.type(), dims, results)};
}

}  // namespace

void add_picking_gradient_kernels(KernelTable& table) {
  table["GatherGradient"] = gather_gradient;
  table["SliceGradient"] = slice_gradient;
}

}  // namespace assay::kernels
