#include "profile/fit/classified_operators.h"

#include <algorithm>
#include <map>

#include "assay/memory.h"
#include "memory/sharing.h"
#include "profile/attribute.h"
#include "profile/operators.h"
#include "transform/simplify.h"

namespace assay::profile {

namespace {

const std::map<std::string, std::string>& classes_by_op() {
  static const std::map<std::string, std::string> kClasses = {{"ConvTranspose", "conv"},
                                                              {"LSTM", "recurrent"},
                                                              {"GRU", "recurrent"},
                                                              {"RNN", "recurrent"},
                                                              {"MaxPool", "pooling"},
                                                              {"AveragePool", "pooling"},
                                                              {"GlobalAveragePool", "pooling"},
                                                              {"GlobalMaxPool", "pooling"},
                                                              {"Softmax", "softmax"},
                                                              {"LogSoftmax", "softmax"},
                                                              {"LayerNormalization", "norm"},
                                                              {"BatchNormalization", "norm"},
                                                              {"InstanceNormalization", "norm"},
                                                              {"GroupNormalization", "norm"}};
  return kClasses;
}

std::string class_of(const Node& node, const LayerCost& cost, const StepWork& work) {
  if (!cost.form.empty()) {
    if (cost.form.starts_with("depthwise")) return "depthwise";
    if (cost.form.starts_with("grouped")) return "grouped conv";
    return cost.form == "3x3" || cost.form == "1x1" ? "conv " + cost.form : "conv";
  }
  const auto known = classes_by_op().find(cost.op);
  if (known != classes_by_op().end()) return known->second;
  if (cost.macs > 0) return work.weight_bytes > 0 ? "product" : "product of activations";
  if (!memory::overwritable_inputs(node).empty()) return "element-wise";
  return cost.flops > 0 ? "other" : cost.op;  // whether bytes are copied depends on the op
}

// Winograd's F(4, r) needs (4 + r - 1) products along an axis where 4 · r would be.
double fewest_flops(const LayerCost& cost) {
  const double flops =
      2.0 * static_cast<double>(cost.effective_macs) + static_cast<double>(cost.other_flops);
  const bool may_be_transformed = !cost.form.empty() && cost.form.find('/') == std::string::npos &&
                                  !cost.form.starts_with("depthwise");
  if (!may_be_transformed) return flops;
  double factor = 1;
  const std::string sides = cost.form.substr(cost.form.find_last_of(' ') + 1);
  for (std::size_t at = 0; at < sides.size(); at = sides.find('x', at) + 1) {
    const double side = std::stod(sides.substr(at));
    if (side > 1) factor *= 4 * side / (4 + side - 1);
    if (sides.find('x', at) == std::string::npos) break;
  }
  return flops / factor;
}

StepWork scaled(StepWork work, double width) {
  work.weight_bytes *= width;
  work.read_bytes *= width;
  work.written_bytes *= width;
  return work;
}

// Bytes moved and nothing computed: engines copy them, or do without.
bool is_movement(const LayerCost& cost) {
  return cost.answer == Answer::Free && cost.bytes_written > 0;
}

// In execution order, like the others.
std::vector<FusedOperator> with_movement(std::vector<FusedOperator> operators, const Graph& graph,
                                         const std::vector<ProfileLayer>& rows) {
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    const LayerCost& cost = rows[i].cost;
    if (!is_movement(cost)) continue;
    operators.push_back({.name = cost.name,
                         .nodes = {NodeId{i}},
                         .work = {.read_bytes = static_cast<double>(cost.bytes_read),
                                  .written_bytes = static_cast<double>(cost.bytes_written)}});
  }
  std::ranges::stable_sort(operators, {}, [](const FusedOperator& one) { return one.nodes[0]; });
  return operators;
}

std::vector<NodeId> origins_of(const std::vector<NodeId>& nodes,
                               const transform::Rewritten& source) {
  std::vector<NodeId> all;
  for (const NodeId node : nodes) {
    const auto& origins = source.origins[node.number];
    all.insert(all.end(), origins.begin(), origins.end());
  }
  return all;
}

transform::Rewritten unchanged(Inferred model) {
  transform::Rewritten source;
  for (std::uint32_t i = 0; i < model.graph.node_count(); ++i) {
    source.origins.push_back({NodeId{i}});
  }
  source.model = std::move(model);
  return source;
}

std::vector<std::string> names_of_nodes(const Graph& graph) {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    names.push_back(graph.display_name(NodeId{i}));
  }
  return names;
}

std::vector<std::string> names_without(const std::string& main, const std::vector<NodeId>& nodes,
                                       const std::vector<std::string>& names) {
  std::vector<std::string> others;
  for (const NodeId node : nodes) {
    if (names[node.number] != main) others.push_back(names[node.number]);
  }
  return others;
}

}  // namespace

std::vector<ClassifiedOperator> classified_operators(Inferred model,
                                                     const ClassifyOptions& options) {
  const std::vector<std::string> names = names_of_nodes(model.graph);
  const transform::Rewritten source =
      options.as_given ? unchanged(std::move(model)) : transform::simplify(std::move(model));
  const Graph& graph = source.model.graph;
  const CostSheet sheet = count_costs(source.model, {.stored_as = options.stored_as});
  const auto rows = layer_rows(graph, sheet);
  const double run_bytes =
      options.width_factor * (static_cast<double>(sheet.totals.parameter_bytes) +
                              static_cast<double>(plan_memory(source.model).arena_bytes));
  std::vector<ClassifiedOperator> classified;
  auto operators = operators_of(source.model, sheet, options.may_join);
  for (const FusedOperator& one : with_movement(std::move(operators), graph, rows)) {
    if (one.is_known && one.work.flops <= 0 && one.work.bytes() <= 0) continue;
    const NodeId main = one.nodes.front();
    const LayerCost& cost = rows[main.number].cost;
    const auto nodes = origins_of(one.nodes, source);
    classified.push_back({.name = one.name,
                          .fused = names_without(one.name, nodes, names),
                          .op_class = class_of(graph.node(main), cost, one.work),
                          .work = scaled(one.work, options.width_factor),
                          .fewest_flops = fewest_flops(cost),
                          .nodes = nodes,
                          .is_movement = is_movement(cost),
                          .is_known = one.is_known});
    classified.back().work.run_bytes = run_bytes;
  }
  return classified;
}

}  // namespace assay::profile
