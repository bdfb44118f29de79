#include "assay/layer_estimate.h"

#include "assay/bind.h"
#include "assay/cost.h"
#include "base/checked.h"
#include "base/fail.h"

namespace assay {

namespace {

Inferred with_input_shape(const Graph& model, std::int64_t batch_size,
                          const std::vector<std::int64_t>& input_shape) {
  if (batch_size < 1) fail_usage("batch_size is {}, expected at least 1", batch_size);
  if (model.inputs().empty()) fail_bad_input("the model '{}' has no input", model.name);
  std::vector<std::int64_t> shape = {batch_size};
  shape.insert(shape.end(), input_shape.begin(), input_shape.end());
  Bindings bindings;
  bindings.input_shapes[model.value(model.inputs()[0]).name] = Shape(shape);
  return infer_shapes(bind_inputs(model, bindings).graph);
}

// Bytes of one parameter of the layer; nothing if it has none, or some of several widths.
std::optional<std::int64_t> parameter_width(const LayerCost& layer) {
  if (layer.parameters == 0) return {};
  for (const std::int64_t width : {1, 2, 4, 8}) {
    if (layer.parameter_bytes == saturating_multiply(layer.parameters, width)) return width;
  }
  return {};
}

// Bytes of one value of the layer's first output, as it is stored.
std::int64_t output_width(const LayerCost& layer, const Graph& graph) {
  if (!layer.node.is_valid() || graph.node(layer.node).outputs.empty()) return 4;
  const ValueId output = graph.node(layer.node).outputs[0];
  const int width = output.is_valid() ? bits(graph.value(output).type.element) / 8 : 0;
  return width > 0 ? width : 4;
}

}  // namespace

std::vector<LayerEstimate> estimate_layerwise_stats(
    const Graph& model, std::int64_t batch_size, const std::vector<std::int64_t>& input_shape,
    std::optional<std::int64_t> activation_bytes_per_value) {
  const Inferred inferred = with_input_shape(model, batch_size, input_shape);
  const CostSheet sheet = count_costs(inferred);
  std::vector<LayerEstimate> estimates;
  for (const LayerCost& layer : sheet.layers) {
    if (layer.parameters == 0 && layer.macs == 0) continue;
    const std::int64_t elements =
        layer.output_shape ? layer.output_shape->elements().value_or(0) : 0;
    const std::int64_t width = activation_bytes_per_value.value_or(
        parameter_width(layer).value_or(output_width(layer, inferred.graph)));
    estimates.push_back({layer.name, elements, layer.parameter_bytes,
                         saturating_multiply(elements, width), layer.macs});
  }
  if (estimates.empty()) {
    fail_bad_input("the model '{}' has neither parameters nor MACs: there is no layer to estimate",
                   model.name);
  }
  return estimates;
}

}  // namespace assay
