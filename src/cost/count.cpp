// Walks the graph, subgraphs included, and makes a row for every node.
#include <algorithm>
#include <limits>

#include "assay/cost.h"
#include "base/checked.h"
#include "base/fail.h"
#include "cost/ledger.h"
#include "cost/table.h"
#include "cost/trips.h"

namespace assay {

using namespace assay::cost;

namespace {

void add_to(std::int64_t& total, std::int64_t more) {
  total = saturating_add(total, more);
}

std::int64_t flops_of(const LayerCost& layer) {
  return saturating_add(saturating_multiply(2, layer.macs),
                        saturating_add(layer.bias_flops, layer.other_flops));
}

void multiply(LayerCost& layer, std::int64_t times) {
  layer.repeats = times;
  for (auto* figure :
       {&layer.macs, &layer.effective_macs, &layer.bias_flops, &layer.other_flops, &layer.flops,
        &layer.bytes_read, &layer.bytes_written, &layer.activation_bytes}) {
    *figure = saturating_multiply(*figure, times);
  }
}

class Counter {
 public:
  Counter(const Inferred& model, const CostOptions& options)
      : model_(model), options_(options), ledger_(make_ledger(model, options.stored_as)) {}

  CostSheet run() {
    sheet_.layers.reserve(model_.graph.node_count());
    count_graph({.graph = model_.graph, .root = &model_}, "", 1);
    add_unowned();
    sum_up();
    return std::move(sheet_);
  }

 private:
  bool is_root(const Graph& graph) const { return &graph == &model_.graph; }

  bool is_folded(const Graph& graph, const Node& node) const {
    if (!is_root(graph) || node.outputs.empty()) return false;
    return std::ranges::all_of(node.outputs, [&](ValueId output) {
      return !output.is_valid() || model_.known_value(output) != nullptr;
    });
  }

  void count_graph(const GraphScope& scope, const std::string& path, std::int64_t times) {
    const Graph& graph = scope.graph;
    for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
      const NodeId id{i};
      LayerCost layer = describe(graph, id, path);
      if (is_folded(graph, graph.node(id))) {
        layer.note = "known before running";
        sheet_.layers.push_back(std::move(layer));
        continue;
      }
      if (count_bodies(OpView(scope, id), scope, path, times)) continue;
      count_work(OpView(scope, id), layer);
      multiply(layer, times);
      sheet_.layers.push_back(std::move(layer));
    }
  }

  LayerCost describe(const Graph& graph, NodeId id, const std::string& path) const {
    const Node& node = graph.node(id);
    LayerCost layer{.name = path + graph.display_name(id),
                    .op = node.is_standard() ? node.op : node.domain + "." + node.op,
                    .node = is_root(graph) ? id : holder_};
    if (node.has_output(0)) layer.output_shape = graph.value(node.outputs[0]).type.shape;
    const auto owned = ledger_.owned.find({&graph, id});
    if (owned != ledger_.owned.end()) {
      layer.parameters = owned->second.parameters;
      layer.parameter_bytes = owned->second.parameter_bytes;
    }
    return layer;
  }

  void count_work(const OpView& op, LayerCost& layer) {
    const OpCost* cost = find_cost(op.node());
    if (cost == nullptr) {
      mark_unknown(layer, "assay does not know this op");
      return;
    }
    try {
      if (cost->count != nullptr) take(cost->count(op), layer);
      count_traffic(op, cost->traffic, layer);
    } catch (const ShapeNotKnown& missing) {
      mark_unknown(layer, fmt::format("the shape of '{}' is not known", missing.tensor));
    }
  }

  static void take(const Work& work, LayerCost& layer) {
    layer.answer = Answer::Counted;
    layer.form = work.form;
    layer.macs = work.macs;
    layer.effective_macs = work.effective_macs;
    layer.bias_flops = work.bias_flops;
    layer.other_flops = work.other_flops;
    layer.flops = flops_of(layer);
  }

  void mark_unknown(LayerCost& layer, std::string reason) {
    layer.answer = Answer::Unknown;
    multiply(layer, 0);  // nothing of what was found so far, its stored parameters apart
    sheet_.uncounted.push_back({layer.op, layer.name, reason});
    layer.note = std::move(reason);
  }

  std::int64_t bytes_of(const Graph& graph, ValueId value) const {
    const ValueType& type = graph.value(value).type;
    if (!type.is_tensor() || !type.has_known_shape()) throw ShapeNotKnown{graph.value(value).name};
    const auto elements = product(type.shape->values());
    return counted_bytes(type.element, elements, options_.stored_as);
  }

  void count_traffic(const OpView& op, Traffic traffic, LayerCost& layer) const {
    if (traffic == Traffic::View) return;
    for (const ValueId output : op.node().outputs) {
      if (output.is_valid()) add_to(layer.bytes_written, bytes_of(op.graph(), output));
    }
    layer.activation_bytes = layer.bytes_written;
    if (traffic == Traffic::Generates) return;
    layer.bytes_read =
        traffic == Traffic::Picks ? picked_bytes(op, layer.bytes_written) : input_bytes(op, 0);
  }

  // An input named twice is read once.
  std::int64_t input_bytes(const OpView& op, std::size_t from) const {
    std::vector<ValueId> inputs(op.node().inputs);
    inputs.erase(inputs.begin(), inputs.begin() + static_cast<long>(std::min(from, inputs.size())));
    std::ranges::sort(inputs);
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
    std::int64_t bytes = 0;
    for (const ValueId input : inputs) {
      if (input.is_valid()) add_to(bytes, bytes_of(op.graph(), input));
    }
    return bytes;
  }

  std::int64_t picked_bytes(const OpView& op, std::int64_t written) const {
    return saturating_add(written, input_bytes(op, 1));
  }

  // The prefix of every node in a body is limited: an untrusted file may choose any length.
  static std::string path_into(const std::string& path, const std::string& name) {
    constexpr std::size_t kLongestSegment = 100;
    return path + name.substr(0, kLongestSegment) + "/";
  }

  // True when the node holds subgraphs, whose nodes were counted instead of it.
  bool count_bodies(const OpView& op, const GraphScope& scope, const std::string& path,
                    std::int64_t times) {
    const Node& node = op.node();
    if (!node.is("If") && !node.is("Loop") && !node.is("Scan")) return false;
    if (is_root(op.graph())) holder_ = op.id();
    const std::string name = op.graph().display_name(op.id());
    if (node.is("If")) {
      count_branches(node, scope, path_into(path, name), times);
      return true;
    }
    const auto* body = node.get<GraphPtr>("body");
    if (body == nullptr) return false;
    const std::int64_t repeats = repetitions(op, scope, path + name);
    count_graph({.graph = **body, .around = &scope}, path_into(path, name),
                saturating_multiply(times, repeats));
    return true;
  }

  std::int64_t repetitions(const OpView& op, const GraphScope& scope, const std::string& name) {
    const auto known = op.node().is("Loop") ? loop_trips(op, scope) : scan_trips(op);
    if (known) return *known;
    sheet_.uncounted.push_back(
        {op.node().op, name, "how often it repeats is known only at run time; counted once"});
    return 1;
  }

  // Which branch runs is not known: the costlier one is counted, the other keeps its parameters.
  // What could not be counted is reported, whichever branch it is in.
  void count_branches(const Node& node, const GraphScope& scope, const std::string& path,
                      std::int64_t times) {
    std::vector<CostSheet> branches;
    for_each_subgraph(node, [&](const Graph& body) {
      CostSheet outer = std::exchange(sheet_, {});
      count_graph({.graph = body, .around = &scope}, path, times);
      branches.push_back(std::exchange(sheet_, std::move(outer)));
    });
    if (branches.empty()) return;
    const auto costlier = std::ranges::max_element(branches, {}, branch_weight);
    for (auto& branch : branches) {
      if (&branch != &*costlier) keep_parameters(branch, path);
      std::ranges::move(branch.uncounted, std::back_inserter(sheet_.uncounted));
      std::ranges::move(branch.warnings, std::back_inserter(sheet_.warnings));
    }
    std::ranges::move(costlier->layers, std::back_inserter(sheet_.layers));
    sheet_.warnings.push_back(fmt::format(
        "If '{}': which branch runs is known only at run time; the costlier one is counted",
        path.substr(0, path.size() - 1)));
  }

  static std::pair<std::int64_t, std::int64_t> branch_weight(const CostSheet& branch) {
    std::pair<std::int64_t, std::int64_t> weight;
    for (const auto& layer : branch.layers) {
      add_to(weight.first, layer.flops);
      add_to(weight.second, layer.bytes_written);
    }
    return weight;
  }

  void keep_parameters(const CostSheet& branch, const std::string& path) {
    LayerCost row{.name = path + "(other branch)", .op = "If", .node = holder_};
    for (const auto& layer : branch.layers) {
      add_to(row.parameters, layer.parameters);
      add_to(row.parameter_bytes, layer.parameter_bytes);
    }
    row.note = "stored, not run";
    if (row.parameters > 0) sheet_.layers.push_back(std::move(row));
  }

  void add_unowned() {
    if (ledger_.unowned.parameters == 0) return;
    LayerCost row{.name = "(unused)", .op = "-"};
    row.note = "stored tensors that no node that runs reads";
    row.parameters = ledger_.unowned.parameters;
    row.parameter_bytes = ledger_.unowned.parameter_bytes;
    sheet_.layers.push_back(std::move(row));
  }

  void sum_up() {
    CostTotals& totals = sheet_.totals;
    for (const auto& layer : sheet_.layers) {
      add_to(totals.parameters, layer.parameters);
      add_to(totals.macs, layer.macs);
      add_to(totals.effective_macs, layer.effective_macs);
      add_to(totals.bias_flops, layer.bias_flops);
      add_to(totals.other_flops, layer.other_flops);
      add_to(totals.flops, layer.flops);
      add_to(totals.bytes_read, layer.bytes_read);
      add_to(totals.bytes_written, layer.bytes_written);
      add_to(totals.parameter_bytes, layer.parameter_bytes);
      add_to(totals.activation_bytes, layer.activation_bytes);
    }
    totals.statistics = ledger_.statistics;
    totals.statistics_bytes = ledger_.statistics_bytes;
    totals.constants = ledger_.constants;
    totals.constants_bytes = ledger_.constants_bytes;
    refuse_overflow(totals);
  }

  // A sum that stopped at the largest number is not a count.
  static void refuse_overflow(const CostTotals& totals) {
    constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
    for (const auto total : {totals.parameters, totals.macs, totals.flops, totals.bytes_read,
                             totals.bytes_written, totals.parameter_bytes}) {
      if (total != kLargest) continue;
      fail_bad_input("its cost exceeds 64 bits: some dimension, or the batch, is far too large");
    }
  }

  const Inferred& model_;
  const CostOptions& options_;
  Ledger ledger_;
  CostSheet sheet_;
  NodeId holder_;  // the root's node whose body is being counted
};

}  // namespace

std::string_view name(Answer answer) {
  switch (answer) {
    case Answer::Counted:
      return "counted";
    case Answer::Free:
      return "free";
    case Answer::Unknown:
      return "unknown";
  }
  return "unknown";
}

CostSheet count_costs(const Inferred& model, const CostOptions& options) {
  return Counter(model, options).run();
}

}  // namespace assay
