// Resize and Upsample, axis by axis.
#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/gemm.h"
#include "kernels/lanes.h"
#include "kernels/movement.h"
#include "kernels/real.h"
#include "kernels/resize_plan.h"

namespace assay::kernels {

namespace {

// For elements of any type: each output is a copy of one input.
Tensor picked(const KernelCall& call, const Tensor& input, const ResizePlan& plan) {
  const Dims strides = row_major_strides(input.dims());
  ElementWriter result(call, input.type(), plan.dims);
  for_each_index(plan.dims, [&](std::span<const std::int64_t> index, std::size_t i) {
    std::int64_t from = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      from += plan.taps[axis][index[axis]][0].index * strides[axis];
    result.copy(i, input, from);
  });
  return result.finish();
}

std::vector<double> resized_along(const std::vector<double>& values, const Lanes& lanes,
                                  const std::vector<Taps>& taps) {
  std::vector<double> results(lanes.outer * taps.size() * lanes.inner);
  double* to = results.data();
  for (std::int64_t outer = 0; outer < lanes.outer; ++outer) {
    for (const Taps& some : taps) {
      for (const Tap& tap : some) {
        const double* from = values.data() + (outer * lanes.length + tap.index) * lanes.inner;
        for (std::int64_t i = 0; i < lanes.inner; ++i) to[i] += tap.weight * from[i];
      }
      to += lanes.inner;
    }
  }
  return results;
}

void fill_outside(std::vector<double>& values, const ResizePlan& plan, double fill) {
  for_each_index(plan.dims, [&](std::span<const std::int64_t> index, std::size_t i) {
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      if (plan.taps[axis][index[axis]].empty()) values[i] = fill;
    }
  });
}

Tensor interpolated(const KernelCall& call, const Tensor& input, const ResizePlan& plan) {
  auto values = input.to_double();
  Dims between = input.dims();
  for (std::size_t axis = 0; axis < plan.dims.size(); ++axis) {
    if (is_identity(plan.taps[axis], between[axis])) continue;
    const Lanes lanes = lanes_along(between, axis);
    between[axis] = plan.dims[axis];
    result_elements(call, between);
    values = resized_along(values, lanes, plan.taps[axis]);
  }
  const double fill = static_cast<double>(call.node.float_or("extrapolation_value", 0));
  if (plan.has_outside()) fill_outside(values, plan, fill);
  return with_number_type(input.type(), [&](auto zero) {
    using T = decltype(zero);
    return store<T>(input.type(), plan.dims, rounded_to<T>(values));
  });
}

std::vector<Tensor> resize(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const ResizePlan plan = resize_plan(call, input.dims());
  const bool is_empty = product_or_zero(plan.dims) == 0;
  const bool only_picks = plan.interpolation == Interpolation::Nearest && !plan.has_outside();
  if (is_empty || only_picks) return {picked(call, input, plan)};
  return {interpolated(call, input, plan)};
}

}  // namespace

void add_resize_kernels(KernelTable& table) {
  table["Resize"] = resize;
  table["Upsample"] = resize;
}

}  // namespace assay::kernels
