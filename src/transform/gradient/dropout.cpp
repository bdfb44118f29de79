// Dropout, whose mask the backward pass needs.
#include "transform/edit.h"
#include "transform/gradient/context.h"

namespace assay {

namespace {

bool is_own_dropout(const Node& node) {
  return node.domain == kOwnDomain && node.op == "Dropout";
}

// As far as is known before running.
bool may_drop(const Inferred& model, const Node& node) {
  if (is_own_dropout(node)) return true;
  if (!node.is("Dropout") || !node.has_input(2)) return false;
  const Tensor* training = model.known_value(node.inputs[2]);
  return training == nullptr || training->elements() != 1 || training->to_int64().front() != 0;
}

// What was kept had been divided by its share.
void give_kept(GradientContext& context, double ratio) {
  const ValueId scaled = context.times(context.gradient(), 1 / (1 - ratio));
  context.give(0, context.where(context.out(1), scaled));
}

// A setting of one number, which must be known before running.
double setting(const GradientContext& context, std::size_t input, double otherwise) {
  if (!context.has(input)) return otherwise;
  const Tensor* number = context.known(input);
  if (number == nullptr || number->elements() != 1) {
    context.fail("{} is not known", input == 1 ? "the ratio" : "training_mode");
  }
  return number->to_double().front();
}

// At inference nothing happens.
void dropout(GradientContext& context) {
  const bool trains = setting(context, 2, 0) != 0;
  const double ratio = trains ? setting(context, 1, 0.5) : 0;
  if (ratio == 0) return context.give(0, context.gradient());
  give_kept(context, ratio);
}

void stepwise_dropout(GradientContext& context) {
  give_kept(context, static_cast<double>(context.node().float_or("ratio", 0.5f)));
}

}  // namespace

Graph with_dropout_masks(const Inferred& model) {
  Graph graph = model.graph.declarations();
  for (const auto& [value, tensor] : model.graph.initializers())
    graph.add_initializer(value, tensor);
  for (std::uint32_t i = 0; i < model.graph.node_count(); ++i) {
    Node node = model.graph.node(NodeId{i});
    if (may_drop(model, node) && node.has_output(0) && !node.has_output(1)) {
      const ValueType mask =
          tensor_type(DataType::Bool, model.graph.value(node.outputs[0]).type.shape);
      node.outputs.resize(2);
      node.outputs[1] =
          graph.add_value(model.graph.display_name(NodeId{i}) + "/gradient/mask", mask);
    }
    graph.add_node(std::move(node));
  }
  return graph;
}

void add_dropout_gradients(GradientTable& table) {
  table["Dropout"] = dropout;
  table["assay:Dropout"] = stepwise_dropout;
}

}  // namespace assay
