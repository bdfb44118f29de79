#include "kernels/window_grid.h"

#include <algorithm>

#include "base/text.h"

namespace assay::kernels {

namespace {

// Far beyond any network, and small enough that products of two do not overflow.
constexpr std::int64_t kLargestSetting = std::int64_t{1} << 30;

// Rounded down, also for negative numbers.
std::int64_t floor_divided(std::int64_t number, std::int64_t divisor) {
  return number / divisor - (number % divisor < 0 ? 1 : 0);
}

std::int64_t ceil_divided(std::int64_t number, std::int64_t divisor) {
  return floor_divided(number + divisor - 1, divisor);
}

// The steps 0 … count - 1 for which `start + step · stride` lies in 0 … size - 1.
IndexRange steps_inside(std::int64_t start, std::int64_t stride, std::int64_t count,
                        std::int64_t size) {
  const std::int64_t first = std::max<std::int64_t>(0, ceil_divided(-start, stride));
  const std::int64_t last = std::min(count, ceil_divided(size - start, stride));
  return {first, std::max(first, last)};
}

Dims setting(const KernelCall& call, const char* attribute, std::size_t count,
             std::int64_t otherwise, std::int64_t least) {
  Dims numbers = call.node.ints_or(attribute, Dims(count, otherwise));
  if (numbers.empty()) return Dims(count, otherwise);
  if (numbers.size() != count)
    call.fail("{} has {} numbers, needs {}", attribute, numbers.size(), count);
  for (const std::int64_t number : numbers) {
    if (number < least || number > kLargestSetting)
      call.fail("{} of {} is out of range", attribute, number);
  }
  return numbers;
}

std::string auto_pad_of(const KernelCall& call) {
  std::string mode = call.node.string_or("auto_pad", "NOTSET");
  if (mode.empty()) return "NOTSET";
  for (const char* known : {"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}) {
    if (mode == known) return mode;
  }
  call.fail("auto_pad '{}' is not known", mode);
}

bool is_same(const std::string& auto_pad) {
  return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER";
}

// An odd remainder is added at the end, or at the beginning.
void share_padding(WindowAxis& axis, std::int64_t total, bool more_at_end) {
  total = std::max<std::int64_t>(total, 0);
  axis.pad_begin = more_at_end ? total / 2 : total - total / 2;
  axis.pad_end = total - axis.pad_begin;
}

WindowGrid grid_of(const KernelCall& call, std::span<const std::int64_t> kernel,
                   const std::string& auto_pad) {
  const std::size_t rank = kernel.size();
  if (rank < 1 || rank > WindowGrid().axes.size())
    call.fail("{} spatial axes, 1 to 3 are known", rank);
  const Dims strides = setting(call, "strides", rank, 1, 1);
  const Dims dilations = setting(call, "dilations", rank, 1, 1);
  const Dims pads = setting(call, "pads", 2 * rank, 0, -kLargestSetting);
  WindowGrid grid;
  grid.rank = rank;
  for (std::size_t i = 0; i < rank; ++i) {
    WindowAxis& axis = grid.axes[3 - rank + i];
    if (kernel[i] < 1 || kernel[i] > kLargestSetting)
      call.fail("a kernel of {} is out of range", join_dims(kernel));
    axis.kernel = kernel[i];
    axis.stride = strides[i];
    axis.dilation = dilations[i];
    if (auto_pad != "NOTSET") continue;
    axis.pad_begin = pads[i];
    axis.pad_end = pads[rank + i];
  }
  return grid;
}

void count_windows(const KernelCall& call, WindowAxis& axis, bool rounds_up) {
  const std::int64_t slack = axis.input + axis.pad_begin + axis.pad_end - axis.extent();
  if (slack < 0)
    call.fail("a window of {} does not fit an axis of {} with its padding", axis.extent(),
              axis.input);
  axis.output = slack / axis.stride + 1;
  // A window that would start in the padding at the end is left out.
  const bool has_rest = rounds_up && slack % axis.stride != 0;
  if (has_rest && axis.output * axis.stride < axis.input + axis.pad_begin) ++axis.output;
}

void check_size(const KernelCall& call, std::int64_t size) {
  if (size > kLargestSetting) call.fail("an axis of {} is out of range", size);
}

}  // namespace

IndexRange WindowAxis::taps_inside(std::int64_t window) const {
  return steps_inside(position(window, 0), dilation, kernel, input);
}

IndexRange WindowAxis::windows_inside(std::int64_t tap) const {
  return steps_inside(position(0, tap), stride, output, input);
}

std::int64_t WindowAxis::taps_with_padding(std::int64_t window) const {
  const std::int64_t start = window * stride;
  return steps_inside(start, dilation, kernel, input + pad_begin + pad_end).count();
}

std::int64_t WindowGrid::input_elements() const {
  return axes[0].input * axes[1].input * axes[2].input;
}

std::int64_t WindowGrid::output_elements() const {
  return axes[0].output * axes[1].output * axes[2].output;
}

std::int64_t WindowGrid::taps() const {
  return axes[0].kernel * axes[1].kernel * axes[2].kernel;
}

Dims WindowGrid::input_dims() const {
  Dims dims;
  for (std::size_t i = 3 - rank; i < 3; ++i) dims.push_back(axes[i].input);
  return dims;
}

Dims WindowGrid::output_dims() const {
  Dims dims;
  for (std::size_t i = 3 - rank; i < 3; ++i) dims.push_back(axes[i].output);
  return dims;
}

Dims image_dims(std::int64_t batch, std::int64_t channels, const Dims& spatial) {
  Dims dims = {batch, channels};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  return dims;
}

WindowGrid window_grid(const KernelCall& call, std::span<const std::int64_t> spatial,
                       std::span<const std::int64_t> kernel) {
  const std::string auto_pad = auto_pad_of(call);
  const bool rounds_up = call.node.int_or("ceil_mode", 0) != 0;
  WindowGrid grid = grid_of(call, kernel, auto_pad);
  for (std::size_t i = 0; i < grid.rank; ++i) {
    WindowAxis& axis = grid.axes[3 - grid.rank + i];
    axis.input = spatial[i];
    check_size(call, axis.input);
    if (is_same(auto_pad)) {
      axis.output = ceil_divided(axis.input, axis.stride);
      const std::int64_t covered = (axis.output - 1) * axis.stride + axis.extent();
      share_padding(axis, covered - axis.input, auto_pad == "SAME_UPPER");
    } else {
      count_windows(call, axis, rounds_up);
    }
  }
  return grid;
}

namespace {

// The attribute may name the spatial axes alone or all axes; empty when it is absent.
Dims wanted_output(const KernelCall& call, std::size_t rank) {
  Dims wanted = call.node.ints_or("output_shape", {});
  if (wanted.size() == rank + 2) wanted.erase(wanted.begin(), wanted.begin() + 2);
  if (!wanted.empty() && wanted.size() != rank)
    call.fail("output_shape has {} numbers for {} spatial axes", wanted.size(), rank);
  for (const std::int64_t size : wanted) {
    if (size < 0 || size > kLargestSetting) call.fail("output_shape of {} is out of range", size);
  }
  return wanted;
}

}  // namespace

WindowGrid transposed_window_grid(const KernelCall& call, std::span<const std::int64_t> spatial,
                                  std::span<const std::int64_t> kernel) {
  const std::string auto_pad = auto_pad_of(call);
  WindowGrid grid = grid_of(call, kernel, auto_pad);
  const Dims extra = setting(call, "output_padding", grid.rank, 0, 0);
  const Dims wanted = wanted_output(call, grid.rank);
  for (std::size_t i = 0; i < grid.rank; ++i) {
    WindowAxis& axis = grid.axes[3 - grid.rank + i];
    axis.output = spatial[i];
    check_size(call, axis.output);
    if (axis.output == 0) call.fail("spatial axis {} is empty", i);
    const std::int64_t covered = (axis.output - 1) * axis.stride + axis.extent() + extra[i];
    if (wanted.empty() && !is_same(auto_pad)) {
      axis.input = covered - axis.pad_begin - axis.pad_end;
    } else {
      axis.input = wanted.empty() ? axis.output * axis.stride : wanted[i];
      share_padding(axis, covered - axis.input, auto_pad == "SAME_UPPER");
    }
    if (axis.input < 0) call.fail("padding leaves {} of spatial axis {}", axis.input, i);
  }
  return grid;
}

std::span<const std::int64_t> spatial_dims(const KernelCall& call, const Dims& dims) {
  if (dims.size() < 3 || dims.size() > 5)
    call.fail("needs one to three spatial axes, got {}", join_dims(dims));
  return std::span(dims).subspan(2);
}

Dims kernel_shape(const KernelCall& call, std::size_t axes) {
  Dims kernel = call.node.ints_or("kernel_shape", {});
  if (kernel.size() != axes)
    call.fail("kernel_shape has {} numbers for {} spatial axes", kernel.size(), axes);
  return kernel;
}

void check_kernel_shape(const KernelCall& call, std::span<const std::int64_t> kernel) {
  const Dims declared = call.node.ints_or("kernel_shape", {});
  if (!declared.empty() && !std::ranges::equal(declared, kernel))
    call.fail("kernel_shape is {}, the weight's {}", join_dims(declared), join_dims(kernel));
}

}  // namespace assay::kernels
