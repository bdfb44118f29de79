#include "profile/prepared.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/checked.h"
#include "base/fail.h"
#include "base/text.h"
#include "infer/batch_name.h"

namespace assay::profile {

namespace {

std::vector<Value> values_of(const Graph& graph, std::span<const ValueId> ids) {
  std::vector<Value> values;
  for (const ValueId id : ids) values.push_back(graph.value(id));
  return values;
}

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

std::string uncounted_warning(const CostSheet& cost) {
  std::set<std::string> ops;
  for (const auto& one : cost.uncounted) ops.insert(one.op);
  const std::vector<std::string> names(ops.begin(), ops.end());
  return fmt::format("{} {} not counted, so the totals are a lower bound: {}",
                     cost.uncounted.size(), cost.uncounted.size() == 1 ? "node was" : "nodes were",
                     join(names, ", "));
}

std::int64_t stored_bytes(const CostTotals& totals) {
  return saturating_add(totals.parameter_bytes,
                        saturating_add(totals.statistics_bytes, totals.constants_bytes));
}

std::vector<ModelEdge> edges_of(const Graph& graph) {
  std::vector<ModelEdge> edges;
  const auto readers = consumers(graph);
  for (std::uint32_t i = 0; i < graph.value_count(); ++i) {
    const NodeId producer = graph.producer(ValueId{i});
    if (!producer.is_valid()) continue;
    for (const NodeId reader : readers[i]) edges.push_back({producer.number, reader.number});
  }
  const auto by_reader = [](const ModelEdge& edge) { return std::pair(edge.to, edge.from); };
  std::ranges::sort(edges, {}, by_reader);
  const auto repeated = std::ranges::unique(edges, {}, by_reader);
  edges.erase(repeated.begin(), repeated.end());
  return edges;
}

struct Axis {
  ValueId input;
  std::size_t number = 0;
};

// The axis that the model calls a batch, or else the first of the first input that has several.
std::optional<Axis> batch_axis(const Graph& declared) {
  std::optional<Axis> first;
  for (const ValueId id : declared.inputs()) {
    const auto& shape = declared.value(id).type.shape;
    if (!shape) continue;
    for (std::size_t axis = 0; axis < shape->rank(); ++axis) {
      if ((*shape)[axis].is_symbol() && infer::is_called_batch((*shape)[axis].symbol_name())) {
        return Axis{id, axis};
      }
    }
    if (!first && shape->rank() > 1) first = Axis{id, 0};
  }
  return first;
}

std::int64_t batch_of(const Graph& bound, const std::optional<Axis>& axis) {
  if (!axis) return 1;
  const auto& shape = bound.value(axis->input).type.shape;
  const bool is_known = shape && axis->number < shape->rank() && (*shape)[axis->number].is_known();
  return is_known ? (*shape)[axis->number].value() : 1;
}

}  // namespace

void check_input_values(const Graph& graph, const std::map<std::string, Tensor>& values) {
  for (const auto& [name, tensor] : values) {
    const auto is_it = [&](ValueId id) { return graph.value(id).name == name; };
    const auto found = std::ranges::find_if(graph.inputs(), is_it);
    if (found == graph.inputs().end()) fail_bad_input("the model has no input named '{}'", name);
    if (const DataType wanted = graph.value(*found).type.element; wanted != tensor.type()) {
      fail_bad_input("input '{}' is {}, the value given is {}", name, assay::name(wanted),
                     assay::name(tensor.type()));
    }
  }
}

NamedPlan named_plan(const Prepared& prepared) {
  const Graph& graph = prepared.inferred.graph;
  NamedPlan named;
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    named.steps.push_back(graph.display_name(NodeId{i}));
  }
  for (const Buffer& buffer : prepared.plan.buffers) {
    named.buffers.push_back({buffer.value.is_valid() ? graph.value(buffer.value).name : "",
                             buffer.bytes, buffer.offset, buffer.first_step, buffer.last_step});
  }
  return named;
}

Prepared prepare_model(Graph graph, std::string name, const CountOptions& options) {
  check_input_values(graph, options.input_values);
  const auto axis = batch_axis(graph);
  BoundGraph bound = bind_inputs(std::move(graph), options.bindings);
  Prepared prepared;
  prepared.batch = batch_of(bound.graph, axis);
  prepared.inferred = infer_shapes(std::move(bound.graph), {.input_values = options.input_values});
  const Graph& inferred = prepared.inferred.graph;
  prepared.model = {.name = std::move(name),
                    .opset = inferred.opset(),
                    .inputs = values_of(inferred, inferred.inputs()),
                    .outputs = values_of(inferred, inferred.outputs()),
                    .edges = edges_of(inferred)};
  prepared.cost = count_costs(prepared.inferred, {.stored_as = options.stored_as});
  prepared.plan = plan_memory(prepared.inferred, {.stored_as = options.stored_as});
  prepared.stored_bytes = stored_bytes(prepared.cost.totals);
  append(prepared.warnings, bound.assumptions);
  append(prepared.warnings, prepared.inferred.warnings);
  append(prepared.warnings, prepared.cost.warnings);
  if (!prepared.cost.uncounted.empty()) {
    prepared.warnings.push_back(uncounted_warning(prepared.cost));
  }
  return prepared;
}

}  // namespace assay::profile
