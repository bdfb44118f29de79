// Pools: by strips of windows where channels lie next to each other, else one thread for each
// window and channel.
#include <fmt/core.h>

#include <cmath>

#include "base/checked.h"
#include "execute/cuda/indexed_kernel.h"
#include "execute/cuda/kernel_text.h"
#include "execute/cuda/pool_view.h"
#include "execute/cuda/quantized_text.h"
#include "execute/cuda/walk.h"
#include "execute/cuda/window_strip.h"
#include "execute/cuda/window_text.h"

namespace assay::cuda {

namespace {

// Adds up `value`, an expression of `x`, over the taps of the window.
std::string sum_text(const PoolView& view, const std::string& type, const std::string& element,
                     const std::string& value) {
  return fmt::format(
      R"({pixels}  {type} sum = 0;
  int count = 0;
#pragma unroll 1
  for (int tap = 0; tap < {taps}; ++tap) {{
{tap}{position}    if ({counted}) ++count;
    if (!({inside})) continue;
    const {type} x = {element};
    sum += {value};
  }}
)",
      fmt::arg("pixels", view.pixels_text()), fmt::arg("type", type),
      fmt::arg("taps", view.grid.taps()), fmt::arg("tap", taps_text(view.grid, "tap")),
      fmt::arg("position", positions_text(view.grid)), fmt::arg("counted", view.counted_text()),
      fmt::arg("inside", inside_text(view.grid)), fmt::arg("element", element),
      fmt::arg("value", value));
}

// The texts beside what the pool itself computes.
bool lower_by_strips(Lowering& lowering, NodeId id, const PoolView& view, const Placement& image,
                     StripTexts texts) {
  const auto strip = window_strip_of(view.grid, image);
  if (!strip) return false;
  Operands operands(lowering);
  texts.image = operands.pointer(image);
  texts.parameters = operands.parameters();
  texts.type = computed_type(image.type);
  const Epilogue epilogue = epilogue_of(lowering, id, channels_last_placement);
  const KernelText kernel = strip_kernel(*strip, texts, epilogue);
  StepDraft draft =
      draft_with(epilogue, id, operands.reads(), epilogue.result.elements() * view.grid.taps());
  draft.algorithm = "own strips";
  lowering.add_kernel_step(draft, lowering.kernels().add(kernel.text), kernel.shape);
  return true;
}

bool lower_average_pool(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto view = pool_view_of(lowering, node, lowering.dims(node.inputs[0]));
  const Placement image = lowering.native(node.inputs[0]);
  if (!view || !is_floating(image.type)) return false;
  const std::string type = computed_type(image.type);
  const bool is_by_strips =
      node.is("AveragePool") && lower_by_strips(lowering, id, *view, image,
                                                {.outside = stored(image.type, "0"),
                                                 .add = "sum += x;",
                                                 .finish = view->count_text(),
                                                 .result = fmt::format("sum / ({})count", type)});
  if (is_by_strips) return true;
  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(image));
  std::string value = "x";
  std::string result = fmt::format("sum / ({})count", type);
  if (node.is("LpPool")) {
    const std::string power = number_text(power_of(node), type);
    value = fmt::format("pow(fabs(x), {})", power);
    result = fmt::format("pow(sum, {} / {})", number_text(1, type), power);
  }
  Operands operands(lowering);
  const std::string body = sum_text(*view, type, operands.element(image, view->image_at()), value);
  add_indexed_step(lowering, id, epilogue, operands.reads(), operands.parameters(), body, result,
                   "own", epilogue.result.elements() * view->grid.taps());
  return true;
}

bool lower_quantized_pool(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  Placement image = lowering.native(node.inputs[0]);
  const bool is_channels_last = node.int_or("channels_last", 0) != 0;
  if (is_channels_last && image.dims.size() > 2) {
    std::rotate(image.dims.begin() + 1, image.dims.end() - 1, image.dims.end());
    std::rotate(image.strides.begin() + 1, image.strides.end() - 1, image.strides.end());
  }
  auto view = pool_view_of(lowering, node, image.dims);
  if (!view || !is_one_number(lowering, node, {1, 2}) || !is_one_number(lowering, node, {3, 4}))
    return false;
  if (is_channels_last) view->set_channels_last();
  const Epilogue epilogue = epilogue_of(lowering, id, layout_of(image));
  Operands operands(lowering);
  const std::string element =
      dequantized_text(operands, node, {1, 2}, operands.element(image, view->image_at()));
  const std::string result =
      quantized_text(operands, node, {3, 4}, lowering.type(node.outputs[0]), "sum / count");
  add_indexed_step(lowering, id, epilogue, operands.reads(), operands.parameters(),
                   sum_text(*view, "double", element, "x"), result, "own",
                   epilogue.result.elements() * view->grid.taps());
  return true;
}

std::string least_text(DataType type) {
  if (is_floating(type)) return number_text(-INFINITY, computed_type(type));
  return fmt::format("whole<{}>(-1e30)", computed_type(type));
}

bool lower_max_pool(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const auto view = pool_view_of(lowering, node, lowering.dims(node.inputs[0]));
  const Placement image = lowering.native(node.inputs[0]);
  if (!view || image.type == DataType::Bool) return false;
  const bool has_places = node.has_output(1) && lowering.is_read(node.outputs[1]);
  const std::string least = least_text(image.type);
  const bool is_by_strips =
      !has_places &&
      lower_by_strips(
          lowering, id, *view, image,
          {.start = least, .outside = stored(image.type, least), .add = "sum = larger(sum, x);"});
  if (is_by_strips) return true;
  Operands operands(lowering);
  const std::string body = greatest_text(*view, computed_type(image.type), least,
                                         operands.element(image, view->image_at()));
  Epilogue epilogue = epilogue_of(lowering, id, layout_of(image));
  std::string store;
  if (has_places) {
    const std::string places = epilogue.add_more(lowering, node.outputs[1]);
    store = fmt::format("  {}[{}] = place < 0 ? -1 : {};\n", places,
                        offset_text(epilogue.more[0], view->result_at()),
                        view->place_text(node.int_or("storage_order", 0) != 0));
  }
  add_indexed_step(lowering, id, epilogue, operands.reads(), operands.parameters(), body + store,
                   "best", "own", epilogue.result.elements() * view->grid.taps());
  return true;
}

}  // namespace

void add_pooling_lowering(LowerTable& table) {
  table["MaxPool"] = lower_max_pool;
  table["AveragePool"] = lower_average_pool;
  table["LpPool"] = lower_average_pool;
  table["com.microsoft.QLinearAveragePool"] = lower_quantized_pool;
}

}  // namespace assay::cuda
