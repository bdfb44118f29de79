#include "infer/windows.h"

#include "base/checked.h"

namespace assay::infer {

Windows windows_of(const InferContext& context, Dims kernel) {
  Windows windows;
  windows.kernel = std::move(kernel);
  const std::size_t axes = windows.axes();
  windows.strides = context.counted_ints("strides", axes, 1, 1);
  windows.dilations = context.counted_ints("dilations", axes, 1, 1);
  windows.pads = context.counted_ints("pads", 2 * axes, 0, INT64_MIN);
  windows.auto_pad = context.node().string_or("auto_pad", "NOTSET");
  windows.rounds_up = context.node().int_or("ceil_mode", 0) != 0;
  const bool is_known = windows.is_same() || windows.auto_pad == "VALID" ||
                        windows.auto_pad == "NOTSET" || windows.auto_pad.empty();
  if (!is_known) context.fail("auto_pad '{}' is not known", windows.auto_pad);
  if (windows.auto_pad == "VALID") windows.pads.assign(2 * axes, 0);
  return windows;
}

std::int64_t window_extent(const InferContext& context, const Windows& windows, std::size_t axis) {
  const auto reach = checked_multiply(windows.kernel[axis] - 1, windows.dilations[axis]);
  if (!reach || *reach == INT64_MAX) {
    context.fail("kernel {} with dilation {} overflows", windows.kernel[axis],
                 windows.dilations[axis]);
  }
  return *reach + 1;
}

namespace {

std::int64_t padded_size(const InferContext& context, const Windows& windows, std::size_t axis,
                         std::int64_t dim) {
  const auto pads = checked_add(windows.pads[axis], windows.pads[windows.axes() + axis]);
  const auto padded = pads ? checked_add(dim, *pads) : std::nullopt;
  if (!padded)
    context.fail("pads {} and {} overflow", windows.pads[axis],
                 windows.pads[windows.axes() + axis]);
  return *padded;
}

}  // namespace

Dim window_count(const InferContext& context, const Windows& windows, std::size_t axis,
                 const Dim& dim) {
  if (!dim.is_known()) return Dim();
  const std::int64_t stride = windows.strides[axis];
  if (windows.is_same()) return Dim(dim.value() / stride + (dim.value() % stride == 0 ? 0 : 1));
  if (windows.kernel[axis] < 0) return Dim();
  const std::int64_t padded = padded_size(context, windows, axis, dim.value());
  const std::int64_t extent = window_extent(context, windows, axis);
  if (padded < extent) {
    context.fail("a window of {} does not fit spatial axis {}: {} with padding {}", extent, axis,
                 dim.value(), padded);
  }
  const std::int64_t slack = padded - extent;
  std::int64_t count = slack / stride + 1;
  if (windows.rounds_up && slack % stride != 0) {
    // A window that would start in the padding at the end is left out.
    const auto start = checked_multiply(count, stride);
    const auto end = checked_add(dim.value(), windows.pads[axis]);
    if (start && end && *start < *end) ++count;
  }
  return Dim(count);
}

Dims kernel_attribute(const InferContext& context, std::size_t axes) {
  if (context.node().ints_or("kernel_shape", {}).size() != axes) {
    context.fail("kernel_shape has {} numbers for {} spatial axes",
                 context.node().ints_or("kernel_shape", {}).size(), axes);
  }
  return context.counted_ints("kernel_shape", axes, 1, 1);
}

}  // namespace assay::infer
