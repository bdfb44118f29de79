// The loss, added after the model's outputs.
#include "assay/differentiate.h"
#include "base/fail.h"
#include "base/text.h"
#include "transform/training/parts.h"

namespace assay::transform {

namespace {

ValueId add_node(Graph& graph, std::string op, std::vector<ValueId> inputs,
                 std::vector<Attribute> attributes = {}) {
  const ValueId output = graph.add_value(unused_name(graph, "loss/" + op));
  graph.add_node({.name = graph.value(output).name,
                  .op = std::move(op),
                  .domain = "",
                  .inputs = std::move(inputs),
                  .outputs = {output},
                  .attributes = std::move(attributes)});
  return output;
}

ValueId add_target(Graph& graph, const std::string& name, DataType type, Shape shape) {
  const ValueId target =
      graph.add_value(unused_name(graph, name), tensor_type(type, std::move(shape)));
  graph.add_input(target);
  return target;
}

// Scores before they become probabilities: their loss is computed from the scores themselves.
struct Scores {
  ValueId value;
  bool are_logarithms = false;
};

Scores scores_of(const Graph& graph, ValueId output) {
  const NodeId maker = graph.producer(output);
  if (!maker.is_valid()) return {output};
  const Node& node = graph.node(maker);
  const auto rank = static_cast<std::int64_t>(graph.value(output).type.shape->rank());
  const std::int64_t axis = node.int_or("axis", graph.opset() >= 13 ? -1 : 1);
  const bool is_over_classes = axis == -1 || axis == rank - 1;
  if (node.is("Softmax") && is_over_classes) return {node.inputs[0]};
  if (node.is("LogSoftmax") && is_over_classes) return {output, true};
  return {output};
}

std::vector<std::int64_t> dims_of_scores(const Graph& graph, ValueId scores) {
  const ValueType& type = graph.value(scores).type;
  if (!type.has_known_shape() || type.shape->rank() < 2 || !is_floating(type.element)) {
    fail_bad_input("output '{}' is {}: cross-entropy needs a score for each class",
                   graph.value(scores).name, type.to_string());
  }
  std::vector<std::int64_t> dims = type.shape->values();
  if (std::ranges::find(dims, 0) != dims.end()) {
    fail_bad_input("output '{}' is {}, without a score: there is nothing to train on",
                   graph.value(scores).name, type.to_string());
  }
  return dims;
}

// Of three axes the last holds the classes (texts); of two or more than three the second does.
AddedLoss add_cross_entropy(Graph& graph, ValueId output) {
  std::vector<std::int64_t> dims = dims_of_scores(graph, output);
  const Scores scores = scores_of(graph, output);
  ValueId rows = scores.value;
  if (dims.size() == 3) {
    rows = add_node(graph, "Transpose", {rows}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
    std::swap(dims[1], dims[2]);
  }
  const std::int64_t classes = dims[1];
  dims.erase(dims.begin() + 1);
  const ValueId labels = add_target(graph, "labels", DataType::Int64, Shape(dims));
  const char* op = scores.are_logarithms ? "NegativeLogLikelihoodLoss" : "SoftmaxCrossEntropyLoss";
  return {add_node(graph, op, {rows, labels}), labels, classes};
}

AddedLoss add_mean_squared_error(Graph& graph, ValueId output) {
  const ValueType type = graph.value(output).type;
  if (!type.has_known_shape() || !is_floating(type.element)) {
    fail_bad_input("output '{}' is {}: it cannot be compared with a target",
                   graph.value(output).name, type.to_string());
  }
  const ValueId target = add_target(graph, "target", type.element, *type.shape);
  const ValueId distance = add_node(graph, "Sub", {output, target});
  const ValueId squares = add_node(graph, "Mul", {distance, distance});
  return {add_node(graph, "ReduceMean", {squares}, {{"keepdims", std::int64_t{0}}}), target};
}

}  // namespace

AddedLoss add_loss(Graph& graph, Loss loss) {
  if (graph.outputs().empty()) fail_bad_input("the model has no output to train on");
  const ValueId output = graph.outputs()[0];
  switch (loss) {
    case Loss::CrossEntropy:
      return add_cross_entropy(graph, output);
    case Loss::MeanSquaredError:
      return add_mean_squared_error(graph, output);
    case Loss::SumOfSquares:
      break;
  }
  return {add_sum_of_squares(graph), {}};
}

}  // namespace assay::transform
