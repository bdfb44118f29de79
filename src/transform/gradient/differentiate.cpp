#include "assay/differentiate.h"

#include <set>

#include "base/text.h"
#include "kernels/real.h"
#include "transform/gradient/context.h"

namespace assay {

using namespace assay::transform;

namespace {

constexpr std::int64_t kOldestOpset = 11;

std::string key_of(const Node& node) {
  return node.is_standard() ? node.op : node.domain + ":" + node.op;
}

bool is_real(const Graph& graph, ValueId value) {
  return is_floating(graph.value(value).type.element);
}

// By value: whether it depends on any of `by`.
std::vector<bool> dependent_values(const Graph& graph, std::span<const ValueId> by) {
  std::vector<bool> depends(graph.value_count(), false);
  for (const ValueId value : by) depends[value.number] = true;
  for (const Node& node : graph.nodes()) {
    bool any = false;
    for (const ValueId input : node.inputs)
      any = any || (input.is_valid() && depends[input.number]);
    if (!any) continue;
    for (const ValueId output : node.outputs) {
      if (output.is_valid() && is_real(graph, output)) depends[output.number] = true;
    }
  }
  return depends;
}

// By node: whether the loss depends on it, and it on any of `by`.
std::vector<bool> nodes_on_the_way(const Graph& graph, ValueId loss,
                                   const std::vector<bool>& depends) {
  std::vector<bool> needed(graph.value_count(), false);
  std::vector<bool> on_the_way(graph.node_count(), false);
  needed[loss.number] = true;
  for (std::size_t i = graph.node_count(); i-- > 0;) {
    const Node& node = graph.nodes()[i];
    bool is_needed = false;
    for (const ValueId output : node.outputs) {
      is_needed =
          is_needed || (output.is_valid() && needed[output.number] && depends[output.number]);
    }
    if (!is_needed) continue;
    on_the_way[i] = true;
    for (const ValueId input : node.inputs) {
      if (input.is_valid() && depends[input.number]) needed[input.number] = true;
    }
  }
  return on_the_way;
}

void check_rules(const Graph& graph, const std::vector<bool>& on_the_way) {
  std::set<std::string> missing;
  for (std::size_t i = 0; i < on_the_way.size(); ++i) {
    const Node& node = graph.nodes()[i];
    if (!on_the_way[i] || find_gradient_rule(node) != nullptr) continue;
    missing.insert(fmt::format("{} ('{}')", key_of(node),
                               graph.display_name(NodeId{static_cast<std::uint32_t>(i)})));
  }
  if (missing.empty()) return;
  const std::vector<std::string> names(missing.begin(), missing.end());
  fail_bad_input("no gradient is known for {}", join(names, ", "));
}

void check_loss(const Graph& graph, ValueId loss) {
  const ValueType& type = graph.value(loss).type;
  const bool is_number = type.has_known_shape() && type.shape->elements() == 1;
  if (!is_number || !is_floating(type.element)) {
    fail_bad_input("'{}' is {}: a loss is a single number", graph.value(loss).name,
                   type.to_string());
  }
}

GradientTable all_rules() {
  GradientTable table;
  add_elementwise_gradients(table);
  add_activation_gradients(table);
  add_dropout_gradients(table);
  add_convolution_gradients(table);
  add_matrix_gradients(table);
  add_normalization_gradients(table);
  add_pooling_gradients(table);
  add_movement_gradients(table);
  add_reduction_gradients(table);
  add_loss_gradients(table);
  add_recurrent_gradients(table);
  return table;
}

}  // namespace

GradientRule transform::find_gradient_rule(const Node& node) {
  static const GradientTable table = all_rules();
  const auto found = table.find(key_of(node));
  return found == table.end() ? nullptr : found->second;
}

Differentiated differentiate(const Inferred& model, ValueId loss, std::span<const ValueId> by) {
  const Graph& graph = model.graph;
  if (graph.opset() < kOldestOpset) {
    fail_bad_input("gradients need opset {} or later, the model has {}", kOldestOpset,
                   graph.opset());
  }
  check_loss(graph, loss);
  const auto depends = dependent_values(graph, by);
  const auto on_the_way = nodes_on_the_way(graph, loss, depends);
  check_rules(graph, on_the_way);
  GradientBuilder builder(model);
  builder.begin(graph.producer(loss), graph.value(loss).name);
  const ValueType& type = graph.value(loss).type;
  builder.give(loss,
               builder.constant(kernels::store_real(type.element, type.shape->values(), {1.0})));
  for (std::size_t i = graph.node_count(); i-- > 0;) {
    if (!on_the_way[i]) continue;
    const NodeId id{static_cast<std::uint32_t>(i)};
    const Node& node = graph.node(id);
    builder.begin(id, graph.display_name(id));
    GradientContext context(builder, node, depends);
    find_gradient_rule(node)(context);
  }
  Differentiated result{.forward_nodes = graph.node_count()};
  for (const ValueId value : by) result.gradients.push_back({value, builder.total(value)});
  result.gradient_of = builder.gradient_of();
  result.graph = std::move(builder.graph());
  return result;
}

ValueId add_sum_of_squares(Graph& graph) {
  ValueId total;
  for (const ValueId output : graph.outputs()) {
    if (!is_real(graph, output)) continue;
    const ValueId squares = graph.add_value("loss/" + graph.value(output).name);
    graph.add_node({.name = graph.value(squares).name,
                    .op = "ReduceSumSquare",
                    .domain = "",
                    .inputs = {output},
                    .outputs = {squares},
                    .attributes = {{"keepdims", std::int64_t{0}}}});
    if (!total.is_valid()) {
      total = squares;
      continue;
    }
    const ValueId sum = graph.add_value(fmt::format("loss/sum.{}", graph.node_count()));
    graph.add_node({.name = graph.value(sum).name,
                    .op = "Add",
                    .domain = "",
                    .inputs = {total, squares},
                    .outputs = {sum}});
    total = sum;
  }
  if (!total.is_valid()) fail_bad_input("the model has no output of real numbers");
  return total;
}

}  // namespace assay
