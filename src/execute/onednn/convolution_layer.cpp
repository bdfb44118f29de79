#include "execute/onednn/convolution_layer.h"

#include "base/checked.h"

namespace assay::onednn {

namespace {

std::span<const std::int64_t> spatial(const Dims& dims) {
  return std::span(dims).subspan(2);
}

}  // namespace

std::optional<ConvolutionLayer> convolution_layer_of(const Lowering& lowering, NodeId id) {
  const Node& node = lowering.node(id);
  if (node.inputs.size() < 2 || !lowering.is_float(node.inputs[0])) return {};
  ConvolutionLayer layer;
  layer.id = id;
  layer.is_transposed = node.op == "ConvTranspose";
  layer.weight = lowering.constant(node.inputs[1]);
  layer.bias = node.has_input(2) ? lowering.constant(node.inputs[2]) : nullptr;
  if (layer.weight == nullptr || (node.has_input(2) && layer.bias == nullptr)) return {};
  if (layer.weight->type() != DataType::Float32) return {};
  layer.input = lowering.dims(node.inputs[0]);
  layer.output = lowering.dims(node.outputs[0]);
  layer.weights = layer.weight->dims();
  layer.groups = node.int_or("group", 1);
  const bool is_empty = checked_product(layer.input).value_or(0) == 0 ||
                        checked_product(layer.output).value_or(0) == 0;
  if (layer.input.size() < 3 || layer.input.size() > 5 || is_empty) return {};
  const KernelCall call{node, {}, lowering.graph().opset()};
  const std::span<const std::int64_t> kernel = spatial(layer.weights);
  layer.grid = layer.is_transposed ? transposed_window_grid(call, spatial(layer.input), kernel)
                                   : window_grid(call, spatial(layer.input), kernel);
  return layer;
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
  if (!layer.is_transposed) return plain_desc(dims);
  const std::size_t outputs = layer.groups > 1 ? 1 : 0;
  Dims turned = dims;
  std::swap(turned[outputs], turned[outputs + 1]);
  Dims strides = row_major_strides(turned);
  std::swap(strides[outputs], strides[outputs + 1]);
  return strided_desc(dims, strides);
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

}  // namespace assay::onednn
