#include "execute/cpu/lower/convolution_layer.h"

#include "base/checked.h"
#include "base/text.h"
#include "execute/cpu/kernels/own_convolution.h"

namespace assay::cpu {

using kernels::KernelCall;
using kernels::row_major_strides;
using kernels::transposed_window_grid;
using kernels::window_grid;
using kernels::WindowAxis;
using kernels::WindowGrid;

namespace {

std::span<const std::int64_t> spatial(const Dims& dims) {
  return std::span(dims).subspan(2);
}

Dims along_axes(const WindowGrid& grid, std::int64_t WindowAxis::*member, std::int64_t shift = 0) {
  Dims numbers;
  for (std::size_t i = 3 - grid.rank; i < 3; ++i) numbers.push_back(grid.axes[i].*member + shift);
  return numbers;
}

bool is_empty(const Dims& dims) {
  return checked_product(dims).value_or(0) == 0;
}

// Windows and groups of a layer whose sizes are known.
bool complete(const Lowering& lowering, ConvolutionLayer& layer) {
  const Node& node = lowering.node(layer.id);
  layer.groups = node.int_or("group", 1);
  if (layer.input.size() < 3 || layer.input.size() > 5) return false;
  if (is_empty(layer.input) || is_empty(layer.output) || is_empty(layer.weights)) return false;
  const KernelCall call{node, {}, lowering.graph().opset()};
  const std::span<const std::int64_t> kernel = spatial(layer.weights);
  layer.grid = layer.is_transposed ? transposed_window_grid(call, spatial(layer.input), kernel)
                                   : window_grid(call, spatial(layer.input), kernel);
  return true;
}

}  // namespace

std::optional<ConvolutionLayer> convolution_layer_of(const Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (node.inputs.size() < 2 || !lowering.is_real(node.inputs[0])) return {};
  ConvolutionLayer layer;
  layer.id = id;
  layer.type = lowering.type(node.outputs[0]);
  layer.is_transposed = node.op == "ConvTranspose";
  layer.has_bias = node.has_input(2);
  layer.weight = lowering.constant(node.inputs[1]);
  layer.bias = layer.has_bias ? lowering.constant(node.inputs[2]) : nullptr;
  if (!lowering.is_real(node.inputs[1])) return {};
  const bool bias_changes = layer.has_bias && layer.bias == nullptr;
  const bool changes_in_half = layer.weights_change() || bias_changes;
  if (layer.type != DataType::Float32 && changes_in_half) return {};
  if (layer.weights_change() && !lowering.is_float(node.inputs[1])) return {};
  if (bias_changes && !layer.weights_change()) return {};
  layer.input = lowering.dims(node.inputs[0]);
  layer.output = lowering.dims(node.outputs[0]);
  layer.weights = lowering.dims(node.inputs[1]);
  return complete(lowering, layer) ? std::optional(layer) : std::nullopt;
}

std::optional<ConvolutionLayer> quantized_convolution_layer_of(const Lowering& lowering,
                                                               NodeId id) {
  const Node& node = lowering.node(id);
  ConvolutionLayer layer;
  layer.id = id;
  layer.weight = lowering.constant(node.inputs[3]);
  layer.has_bias = node.has_input(8);
  layer.bias = layer.has_bias ? lowering.constant(node.inputs[8]) : nullptr;
  if (layer.weight == nullptr) return {};
  layer.input = lowering.dims(node.inputs[0]);
  layer.output = lowering.dims(node.outputs[0]);
  layer.weights = layer.weight->dims();
  return complete(lowering, layer) ? std::optional(layer) : std::nullopt;
}

std::optional<ConvolutionLayer> integer_convolution_layer_of(const Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  ConvolutionLayer layer;
  layer.id = id;
  layer.weight = lowering.constant(node.inputs[1]);
  if (layer.weight == nullptr) return {};
  layer.input = lowering.dims(node.inputs[0]);
  layer.output = lowering.dims(node.outputs[0]);
  layer.weights = layer.weight->dims();
  return complete(lowering, layer) ? std::optional(layer) : std::nullopt;
}

std::optional<ConvolutionLayer> layer_of_gradient(const Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (!lowering.is_float(node.inputs[0]) || !lowering.is_float(node.inputs[1])) return {};
  ConvolutionLayer layer;
  layer.id = id;
  layer.has_bias = node.has_output(1);
  if (node.op == "ConvInputGradient") {
    layer.input = lowering.dims(node.outputs[0]);
    layer.weights = lowering.dims(node.inputs[1]);
    layer.output = lowering.dims(node.inputs[0]);
  } else {
    layer.input = lowering.dims(node.inputs[0]);
    layer.weights = lowering.dims(node.outputs[0]);
    layer.output = lowering.dims(node.inputs[1]);
  }
  return complete(lowering, layer) ? std::optional(layer) : std::nullopt;
}

Convolution described(const ConvolutionLayer& layer, const Desc& source, const Desc& result) {
  Convolution what;
  what.source = source;
  what.weights = any_desc(described_weights(layer), layer.type);
  if (layer.is_transposed && layer.weights_change()) what.weights = stored_weights(layer);
  if (layer.has_bias) what.bias = plain_desc({layer.output[1]});
  what.result = result;
  what.strides = along_axes(layer.grid, &WindowAxis::stride);
  what.dilations = along_axes(layer.grid, &WindowAxis::dilation, -1);
  what.pads_begin = along_axes(layer.grid, &WindowAxis::pad_begin);
  what.pads_end = along_axes(layer.grid, &WindowAxis::pad_end);
  // oneDNN wants the padding at the end that makes its own arithmetic come out.
  for (std::size_t i = 0; i < layer.grid.rank; ++i) {
    const WindowAxis& axis = layer.grid.axes[3 - layer.grid.rank + i];
    what.pads_end[i] =
        (axis.output - 1) * axis.stride + axis.extent() - axis.input - axis.pad_begin;
  }
  return what;
}

std::string key_of(const ConvolutionLayer& layer, const Convolution& what) {
  std::string key;
  for (const Dims* dims : {&layer.input, &layer.output, &layer.weights, &what.strides,
                           &what.dilations, &what.pads_begin, &what.pads_end}) {
    key += " " + join_dims(*dims);
  }
  if (layer.type == DataType::BFloat16) key += " bf16";
  if (layer.type == DataType::Float16) key += " fp16";
  return key + " g" + std::to_string(layer.groups);
}

bool is_slow_convolution(const Choice& choice) {
  const std::string& name = choice.implementation;
  return name.starts_with("ref") || name.find("sse41") != std::string::npos;
}

Dims described_weights(const ConvolutionLayer& layer) {
  Dims dims;
  if (layer.groups > 1) dims.push_back(layer.groups);
  const std::int64_t first = layer.weights[0];
  const std::int64_t second = layer.weights[1];
  dims.push_back(layer.is_transposed ? second : first / layer.groups);
  dims.push_back(layer.is_transposed ? first / layer.groups : second);
  dims.insert(dims.end(), layer.weights.begin() + 2, layer.weights.end());
  return dims;
}

// A transposed one is stored inputs first.
Desc stored_weights(const ConvolutionLayer& layer) {
  const Dims dims = described_weights(layer);
  if (!layer.is_transposed) return plain_desc(dims, layer.type);
  const std::size_t outputs = layer.groups > 1 ? 1 : 0;
  Dims transposed = dims;
  std::swap(transposed[outputs], transposed[outputs + 1]);
  Dims strides = row_major_strides(transposed);
  std::swap(strides[outputs], strides[outputs + 1]);
  return strided_desc(dims, strides, layer.type);
}

std::int64_t effective_macs(const ConvolutionLayer& layer) {
  std::int64_t taps = 1;
  for (const WindowAxis& axis : layer.grid.axes) {
    std::int64_t inside = 0;
    for (std::int64_t window = 0; window < axis.output; ++window) {
      inside += axis.taps_inside(window).count();
    }
    taps = saturating_multiply(taps, inside);
  }
  const std::int64_t channels = saturating_multiply(layer.weights[0], layer.weights[1]);
  return saturating_multiply(saturating_multiply(layer.input[0], channels), taps);
}

namespace {

// oneDNN's Winograd: 36 products for each tile of 4×4 results and each pair of channels, and the
// transforms of images, results and weights.
std::int64_t winograd_flops(const ConvolutionLayer& layer) {
  std::int64_t tiles = layer.output[0];
  for (const WindowAxis& axis : layer.grid.axes) {
    if (axis.kernel == 3) tiles = saturating_multiply(tiles, (axis.output + 3) / 4);
  }
  const std::int64_t inputs = layer.input[1];
  const std::int64_t outputs = layer.output[1];
  const std::int64_t pairs = saturating_multiply(inputs, outputs);
  constexpr std::int64_t kImageTransform = 12 * 19;
  constexpr std::int64_t kResultTransform = 10 * 13;
  constexpr std::int64_t kFilterTransform = 2 * (6 * 3 * 3 + 6 * 6 * 3);
  const std::int64_t products = saturating_multiply(2 * 36, saturating_multiply(tiles, pairs));
  const std::int64_t transforms =
      saturating_multiply(tiles, saturating_add(saturating_multiply(kImageTransform, inputs),
                                                saturating_multiply(kResultTransform, outputs)));
  return saturating_add(saturating_add(products, transforms),
                        saturating_multiply(kFilterTransform, pairs));
}

}  // namespace

std::int64_t executed_flops(const ConvolutionLayer& layer, const Choice& choice) {
  if (choice.own != nullptr) return choice.own->flops();
  const bool is_winograd = choice.implementation.find("wino") != std::string::npos;
  return is_winograd ? winograd_flops(layer) : saturating_multiply(2, effective_macs(layer));
}

}  // namespace assay::cpu
