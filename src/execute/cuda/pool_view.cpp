#include "execute/cuda/pool_view.h"

#include <fmt/core.h>

#include "base/checked.h"
#include "execute/cuda/window_text.h"
#include "kernels/real.h"

namespace assay::cuda {

void PoolView::set_channels_last() {
  channel_axis = grid.rank + 1;
  first_axis = 1;
}

std::string PoolView::pixels_text() const {
  std::string text;
  for (std::size_t i = 0; i < 3; ++i) {
    const bool is_unused = i < 3 - grid.rank;
    text += is_unused
                ? fmt::format("  const int out{} = 0;\n", i)
                : fmt::format("  const int out{} = i{};\n", i, i - (3 - grid.rank) + first_axis);
  }
  return text;
}

std::string PoolView::counted_text() const {
  if (!counts_padding) return inside_text(grid);
  std::string text = "true";
  for (std::size_t i = 0; i < 3; ++i)
    text += fmt::format(" && in{} < {}", i, grid.axes[i].input + grid.axes[i].pad_end);
  return text;
}

std::string PoolView::count_text(const char* window) const {
  std::string text = "    int count = 1;\n";
  for (std::size_t i = 0; i < 3; ++i) {
    const kernels::WindowAxis& axis = grid.axes[i];
    const std::int64_t low = counts_padding ? -axis.pad_begin : 0;
    const std::int64_t high = axis.input + (counts_padding ? axis.pad_end : 0);
    text += fmt::format(
        "    {{ int some = 0; for (int t = 0; t < {}; ++t) {{ const int p = {}{} * {} - {} + t * "
        "{}; some += p >= {} && p < {}; }} count *= some; }}\n",
        axis.kernel, window, i, axis.stride, axis.pad_begin, axis.dilation, low, high);
  }
  return text;
}

std::vector<std::string> PoolView::image_at() const {
  return image_coordinates(grid, "i0", fmt::format("i{}", channel_axis), "in");
}

std::vector<std::string> PoolView::result_at() const {
  std::vector<std::string> at;
  for (std::size_t axis = 0; axis < grid.rank + 2; ++axis) at.push_back(fmt::format("i{}", axis));
  return at;
}

std::string PoolView::place_text(bool by_columns) const {
  const std::string plane =
      fmt::format("((long long)i0 * {} + i{}) * {}", image[1], channel_axis, grid.input_elements());
  if (!by_columns) return plane + " + place";
  const auto& [depth, height, width] = grid.axes;
  return fmt::format("{0} + place / {1} + {2} * (place / {3} % {4} + {4} * (place % {3}))", plane,
                     height.input * width.input, depth.input, width.input, height.input);
}

std::optional<PoolView> pool_view_of(const Lowering& lowering, const Node& node,
                                     const Dims& image) {
  if (image.size() < 3 || image.size() > 5 || checked_product(image).value_or(0) == 0) return {};
  const kernels::KernelCall call{node, {}, lowering.graph().opset()};
  const auto spatial = std::span(image).subspan(2);
  PoolView view{
      .grid = kernels::window_grid(call, spatial, kernels::kernel_shape(call, spatial.size())),
      .image = image};
  view.counts_padding = node.int_or("count_include_pad", 0) != 0;
  return view;
}

std::string greatest_text(const PoolView& view, const std::string& type, const std::string& least,
                          const std::string& element) {
  const auto& [depth, height, width] = view.grid.axes;
  return fmt::format(
      R"({pixels}  {type} best = {least};
  int place = -1;
#pragma unroll 1
  for (int tap = 0; tap < {taps}; ++tap) {{
{tap}{position}    if (!({inside})) continue;
    const {type} value = {element};
    if (place >= 0 && !(value > best) && !(value != value && best == best)) continue;
    best = value;
    place = (in0 * {height} + in1) * {width} + in2;
  }}
)",
      fmt::arg("pixels", view.pixels_text()), fmt::arg("type", type), fmt::arg("least", least),
      fmt::arg("taps", view.grid.taps()), fmt::arg("tap", taps_text(view.grid, "tap")),
      fmt::arg("position", positions_text(view.grid)), fmt::arg("inside", inside_text(view.grid)),
      fmt::arg("element", element), fmt::arg("height", height.input),
      fmt::arg("width", width.input));
}

double power_of(const Node& node) {
  return kernels::number_or(node, "p", 2);
}

}  // namespace assay::cuda
