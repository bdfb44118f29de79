#include "execute/cuda/window_text.h"

#include <fmt/core.h>

namespace assay::cuda {

using kernels::WindowAxis;
using kernels::WindowGrid;

namespace {

std::string digits_text(const WindowGrid& grid, const char* name, const std::string& index,
                        std::int64_t WindowAxis::*length) {
  const std::int64_t height = grid.axes[1].*length;
  const std::int64_t width = grid.axes[2].*length;
  return fmt::format(
      "    const int {0}0 = (int)(({1}) / {2}), {0}1 = (int)(({1}) / {3} % {4}), {0}2 = "
      "(int)(({1}) % {3});\n",
      name, index, height * width, width, height);
}

}  // namespace

std::string taps_text(const WindowGrid& grid, const std::string& tap) {
  return digits_text(grid, "tap", tap, &WindowAxis::kernel);
}

std::string pixels_text(const WindowGrid& grid, const std::string& pixel) {
  return digits_text(grid, "out", pixel, &WindowAxis::output);
}

std::string positions_text(const WindowGrid& grid) {
  std::string text;
  for (std::size_t i = 0; i < 3; ++i) {
    const WindowAxis& axis = grid.axes[i];
    text += fmt::format("    const int in{0} = out{0} * {1} + tap{0} * {2} - {3};\n", i,
                        axis.stride, axis.dilation, axis.pad_begin);
  }
  return text;
}

std::string inside_text(const WindowGrid& grid) {
  std::string text = "true";
  for (std::size_t i = 0; i < 3; ++i) {
    const WindowAxis& axis = grid.axes[i];
    const bool is_trivial =
        axis.kernel == 1 && axis.pad_begin == 0 && (axis.output - 1) * axis.stride < axis.input;
    if (!is_trivial) text += fmt::format(" && in{0} >= 0 && in{0} < {1}", i, axis.input);
  }
  return text;
}

// Windows are the input here: `input` of an axis is the op's output, whose pixels are out0, ….
std::string transposed_positions_text(const WindowGrid& grid) {
  std::string text;
  for (std::size_t i = 0; i < 3; ++i) {
    const WindowAxis& axis = grid.axes[i];
    text += fmt::format(
        "    const int from{0} = out{0} + {1} - tap{0} * {2};\n    const int in{0} = from{0} / "
        "{3};\n",
        i, axis.pad_begin, axis.dilation, axis.stride);
  }
  return text;
}

std::string transposed_inside_text(const WindowGrid& grid) {
  std::string text = "true";
  for (std::size_t i = 0; i < 3; ++i) {
    const WindowAxis& axis = grid.axes[i];
    text += fmt::format(" && from{0} >= 0 && from{0} % {1} == 0 && in{0} < {2}", i, axis.stride,
                        axis.output);
  }
  return text;
}

std::vector<std::string> image_coordinates(const WindowGrid& grid, const std::string& n,
                                           const std::string& c, const char* spatial) {
  std::vector<std::string> at = {n, c};
  for (std::size_t i = 3 - grid.rank; i < 3; ++i) at.push_back(fmt::format("{}{}", spatial, i));
  return at;
}

}  // namespace assay::cuda
