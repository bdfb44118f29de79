// MaxPool, AveragePool, their global forms, and the gradient of AveragePool, in the layout of the
// input.
#include <algorithm>

#include "base/checked.h"
#include "execute/cpu/lower/half_pooling.h"
#include "execute/cpu/lower/quantized_facts.h"
#include "execute/cpu/steps.h"
#include "execute/precision.h"
#include "kernels/window_grid.h"

namespace assay::cpu {

using kernels::kernel_shape;
using kernels::KernelCall;
using kernels::window_grid;
using kernels::WindowAxis;
using kernels::WindowGrid;

namespace {

struct PoolingWindows {
  Dims kernel;
  Dims strides;
  Dims dilations;
  Dims begin;
  Dims end;
};

std::optional<PoolingWindows> pooling_windows(const Lowering& lowering, const Node& node,
                                              const Dims& input) {
  PoolingWindows windows;
  const std::span<const std::int64_t> spatial = std::span(input).subspan(2);
  if (node.op.starts_with("Global")) {
    windows.kernel.assign(spatial.begin(), spatial.end());
    windows.strides.assign(spatial.size(), 1);
    windows.dilations = windows.begin = windows.end = Dims(spatial.size(), 0);
    return windows;
  }
  const KernelCall call{node, {}, lowering.graph().opset()};
  const auto kernel = kernel_shape(call, spatial.size());
  const WindowGrid grid = window_grid(call, spatial, kernel);
  for (std::size_t i = 3 - grid.rank; i < 3; ++i) {
    const WindowAxis& axis = grid.axes[i];
    windows.kernel.push_back(axis.kernel);
    windows.strides.push_back(axis.stride);
    windows.dilations.push_back(axis.dilation - 1);
    windows.begin.push_back(axis.pad_begin);
    // Negative where the last positions are left over, too few for one more window.
    const std::int64_t beyond =
        (axis.output - 1) * axis.stride + axis.extent() - axis.input - axis.pad_begin;
    windows.end.push_back(std::max<std::int64_t>(0, beyond));
    // oneDNN wants padding narrower than the window, and counts what ceil_mode adds differently.
    const bool is_odd = axis.pad_begin >= axis.extent() || windows.end.back() >= axis.extent();
    if (is_odd) return {};
    if (windows.end.back() > axis.pad_end && node.op.starts_with("AveragePool") &&
        node.int_or("count_include_pad", 0) != 0) {
      return {};
    }
  }
  return windows;
}

Algorithm algorithm_of(const Node& node) {
  if (node.op.ends_with("MaxPool")) return Algorithm::pooling_max;
  return node.int_or("count_include_pad", 0) != 0 ? Algorithm::pooling_avg_include_padding
                                                  : Algorithm::pooling_avg_exclude_padding;
}

bool is_slow_pool(const Choice& choice) {
  return choice.implementation.starts_with("ref") || choice.implementation.starts_with("simple");
}

// In the input's own layout if that is fast, else in blocks of channels.
std::optional<Choice> choose(const Desc& native, const Dims& input, Pooling what) {
  what.source = native;
  auto choice = pooling(what);
  if (choice && !is_slow_pool(*choice)) return choice;
  const DataType type = element_of(native);
  what.source = image_desc(input, is_8_bit(type) ? 0 : 16, type);
  auto blocked = pooling(what);
  return blocked && !is_slow_pool(*blocked) ? blocked : choice;
}

Pooling described(const Node& node, const PoolingWindows& windows, const Desc& source,
                  const Dims& output) {
  return {.algorithm = algorithm_of(node),
          .source = source,
          .result = any_desc(output, element_of(source)),
          .kernel = windows.kernel,
          .strides = windows.strides,
          .dilations = windows.dilations,
          .pads_begin = windows.begin,
          .pads_end = windows.end};
}

bool lower_pooling(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const bool is_maximum = node.op.ends_with("MaxPool");
  const bool has_form =
      lowering.is_real(node.inputs[0]) || (is_maximum && is_8_bit(lowering, node.inputs[0]));
  if (!has_form || node.has_output(1)) return false;
  const Dims input = lowering.dims(node.inputs[0]);
  const Dims output = lowering.dims(node.outputs[0]);
  const bool is_empty =
      checked_product(input).value_or(0) == 0 || checked_product(output).value_or(0) == 0;
  if (input.size() < 3 || input.size() > 5 || is_empty) return false;
  // What was left in float32 stays in it.
  const bool is_float16 = lowering.native(node.inputs[0]).type == DataType::Float16;
  if (is_float16 && lowering.type(node.inputs[0]) == DataType::Float16)
    return lower_half_pooling(lowering, id);
  // The plain kernel lets NaN through a maximum; oneDNN does not.
  if (lowering.options().ieee_strict && is_maximum) return false;
  const auto windows = pooling_windows(lowering, node, input);
  if (!windows) return false;
  const Placement native = lowering.native(node.inputs[0]);
  Desc layout = native.blocked ? *native.blocked : plain_desc(input, native.type);
  if (is_float16) layout = with_type(layout, DataType::Float32);
  const auto choice = choose(layout, input, described(node, *windows, layout, output));
  if (!choice) return false;
  // oneDNN's for AVX2 reads before the first byte of images of a few channels.
  const bool is_unsafe =
      is_8_bit(lowering, node.inputs[0]) && !choice->implementation.ends_with(":avx512_core");
  if (is_unsafe) return false;
  const Placement source = lowering.in_layout(node.inputs[0], choice->source);
  const Placement result = lowering.new_placement(choice->result, output);
  StepDraft draft{.nodes = {id},
                  .algorithm = choice->implementation,
                  .precision = execute::precision_name(element_of(choice->source)),
                  .executed_flops = saturating_multiply(
                      result.elements(), checked_product(windows->kernel).value_or(0)),
                  .reads = {source},
                  .writes = {result}};
  std::vector<Argument> arguments = {{argument::kSource, choice->source, source},
                                     {argument::kResult, choice->result, result}};
  add_scratchpad(lowering, choice->scratchpad, draft, arguments);
  lowering.add_step(draft, primitive_binder(choice->primitive, std::move(arguments)));
  lowering.set_placement(node.outputs[0], result);
  return true;
}

// The images are laid out as the gradient is.
bool lower_average_gradient(Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  const Dims input = lowering.dims(node.outputs[0]);
  const Dims output = lowering.dims(node.inputs[0]);
  if (!lowering.is_float(node.inputs[0]) || input.size() < 3 || input.size() > 5) return false;
  if (checked_product(input).value_or(0) == 0 || checked_product(output).value_or(0) == 0)
    return false;
  const auto windows = pooling_windows(lowering, node, input);
  if (!windows) return false;
  const Placement native = lowering.native(node.inputs[0]);
  const Desc layout = block_shape(native) ? like_blocks(native, input) : plain_desc(input);
  const auto choice = pooling_gradient(described(node, *windows, layout, output));
  if (!choice) return false;
  const Placement gradient = lowering.in_layout(node.inputs[0], choice->result);
  const Placement result = lowering.new_placement(choice->source, input);
  StepDraft draft{.nodes = {id},
                  .algorithm = choice->implementation,
                  .executed_flops = saturating_multiply(
                      gradient.elements(), checked_product(windows->kernel).value_or(0)),
                  .reads = {gradient},
                  .writes = {result}};
  std::vector<Argument> arguments = {{choice->indices.result, choice->result, gradient},
                                     {choice->indices.source, choice->source, result}};
  add_scratchpad(lowering, choice->scratchpad, draft, arguments);
  lowering.add_step(draft, primitive_binder(choice->primitive, std::move(arguments)));
  lowering.set_placement(node.outputs[0], result);
  return true;
}

}  // namespace

void add_pooling_lowering(LowerTable& table) {
  for (const char* op : {"MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool"}) {
    table[op] = lower_pooling;
  }
  table["assay.AveragePoolGradient"] = lower_average_gradient;
}

}  // namespace assay::cpu
