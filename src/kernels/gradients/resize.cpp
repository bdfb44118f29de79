// ResizeGradient passes each gradient to the input elements of its output element, with their
// interpolation weights. It works axis by axis, like Resize.
#include "base/text.h"
#include "kernels/families.h"
#include "kernels/lanes.h"
#include "kernels/real.h"
#include "kernels/resize_plan.h"

namespace assay::kernels {

namespace {

// From lanes of the result's length, whose elements were made by `taps`, to those of the input's.
std::vector<double> given_back_along(const std::vector<double>& gradients, const Lanes& lanes,
                                     const std::vector<Taps>& taps) {
  std::vector<double> results(lanes.outer * lanes.length * lanes.inner);
  const double* from = gradients.data();
  for (std::int64_t outer = 0; outer < lanes.outer; ++outer) {
    for (const Taps& some : taps) {
      for (const Tap& tap : some) {
        double* to = results.data() + (outer * lanes.length + tap.index) * lanes.inner;
        for (std::int64_t i = 0; i < lanes.inner; ++i) to[i] += tap.weight * from[i];
      }
      from += lanes.inner;
    }
  }
  return results;
}

std::vector<Tensor> resize_gradient(const KernelCall& call) {
  const Tensor& gradient = call.input(0);
  const Dims dims = call.ints("input_dims");
  const ResizePlan plan = resize_plan(call, dims);
  if (gradient.dims() != plan.dims)
    call.fail("the gradient is {}, the result was {}", join_dims(gradient.dims()),
              join_dims(plan.dims));
  auto values = load_real(call, gradient);
  if (values.empty()) values.resize(result_elements(call, dims));
  Dims between = plan.dims;
  for (std::size_t axis = 0; axis < dims.size() && gradient.elements() > 0; ++axis) {
    between[axis] = dims[axis];
    if (is_identity(plan.taps[axis], dims[axis])) continue;
    result_elements(call, between);
    values = given_back_along(values, lanes_along(between, axis), plan.taps[axis]);
  }
  return {store_real(gradient.type(), dims, values)};
}

}  // namespace

void add_resize_gradient_kernels(KernelTable& table) {
  table["ResizeGradient"] = resize_gradient;
}

}  // namespace assay::kernels
