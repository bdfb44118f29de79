#include "profile/studies/attention_layers.h"

namespace assay::profile {

namespace {

// Made from stored tensors alone, as the transposed embedding of an output layer is.
bool is_made_of_weights(const Graph& model, ValueId value) {
  if (model.initializer(value) != nullptr) return true;
  const NodeId producer = model.producer(value);
  if (!producer.is_valid()) return false;
  const Node& node = model.node(producer);
  const bool only_passes_on = node.is("Transpose") || node.is("Cast") || node.is("Reshape") ||
                              node.is("DequantizeLinear") || node.is("Identity");
  return only_passes_on && node.has_input(0) && is_made_of_weights(model, node.inputs[0]);
}

bool is_product_of_activations(const Graph& model, const Node& node) {
  return node.is("MatMul") && node.has_input(1) && !is_made_of_weights(model, node.inputs[0]) &&
         !is_made_of_weights(model, node.inputs[1]);
}

}  // namespace

std::set<std::string> attention_layers(const Graph& model) {
  std::set<std::string> names;
  for (std::uint32_t i = 0; i < model.node_count(); ++i) {
    const Node& node = model.node(NodeId{i});
    const bool is_attention =
        node.is("Softmax") || node.op == "Attention" || is_product_of_activations(model, node);
    if (is_attention) names.insert(model.display_name(NodeId{i}));
  }
  return names;
}

std::optional<double> attention_share(const CostSheet& sheet, const std::set<std::string>& layers) {
  if (sheet.totals.macs <= 0) return {};
  double macs = 0;
  for (const LayerCost& layer : sheet.layers) {
    if (layers.contains(layer.name)) macs += static_cast<double>(layer.macs);
  }
  return macs / static_cast<double>(sheet.totals.macs);
}

}  // namespace assay::profile
