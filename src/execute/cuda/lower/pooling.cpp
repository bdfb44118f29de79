// Pools: one thread for each window.
#include <fmt/core.h>

#include "base/checked.h"
#include "execute/cuda/indexed_kernel.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/window_text.h"

namespace assay::cuda {

namespace {

// Taps that count for an average: on elements, or on the padding too.
std::string counted_text(const kernels::WindowGrid& grid, bool with_padding) {
  if (!with_padding) return inside_text(grid);
  std::string text = "true";
  for (std::size_t i = 0; i < 3; ++i)
    text += fmt::format(" && in{} < {}", i, grid.axes[i].input + grid.axes[i].pad_end);
  return text;
}

bool lower_pool(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Dims dims = lowering.dims(node.inputs[0]);
  if (dims.size() < 3 || dims.size() > 5 || checked_product(dims).value_or(0) == 0) return false;
  if (node.has_output(1) && lowering.is_read(node.outputs[1])) return false;
  const bool is_largest = node.is("MaxPool");
  const kernels::KernelCall call{node, {}, lowering.graph().opset()};
  const auto spatial = std::span(dims).subspan(2);
  const auto grid =
      kernels::window_grid(call, spatial, kernels::kernel_shape(call, spatial.size()));
  const Placement image = lowering.native(node.inputs[0]);
  const Epilogue epilogue = epilogue_of(
      lowering, id, image.is_channels_last() ? channels_last_placement : row_major_placement);
  const std::string type = computed_type(image.type);
  const bool with_padding = node.int_or("count_include_pad", 0) != 0;
  std::string pixels;
  for (std::size_t i = 0; i < 3; ++i)
    pixels += i < 3 - grid.rank
                  ? fmt::format("  const int out{} = 0;\n", i)
                  : fmt::format("  const int out{} = i{};\n", i, i - (3 - grid.rank) + 2);
  const std::string body = fmt::format(
      R"({pixels}  {type} sum = {start};
  int count = 0;
#pragma unroll 1
  for (int tap = 0; tap < {taps}; ++tap) {{
{tap}{position}    if ({counted}) ++count;
    if (!({inside})) continue;
    const {type} value = {element};
    sum = {next};
  }}
)",
      fmt::arg("pixels", pixels), fmt::arg("type", type),
      fmt::arg("start", is_largest ? "0" : number_text(0, type)), fmt::arg("taps", grid.taps()),
      fmt::arg("tap", taps_text(grid, "tap")), fmt::arg("position", positions_text(grid)),
      fmt::arg("counted", is_largest ? inside_text(grid) : counted_text(grid, with_padding)),
      fmt::arg("inside", inside_text(grid)),
      fmt::arg("element", element_text(image, "image", image_coordinates(grid, "i0", "i1", "in"))),
      fmt::arg("next", is_largest ? "count == 1 ? value : larger(sum, value)" : "sum + value"));
  add_indexed_step(lowering, id, epilogue, {image}, parameter_text(image, "image"), body,
                   is_largest ? "sum" : fmt::format("sum / ({})count", type), "own",
                   epilogue.result.elements() * grid.taps());
  return true;
}

}  // namespace

void add_pooling_lowering(LowerTable& table) {
  table["MaxPool"] = lower_pool;
  table["AveragePool"] = lower_pool;
}

}  // namespace assay::cuda
