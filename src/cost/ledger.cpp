#include "cost/ledger.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "assay/cost.h"
#include "base/checked.h"
#include "cost/roles.h"
#include "graph/node_kinds.h"

namespace assay {

using namespace assay::cost;

namespace {

// A stored tensor that reaches a value, perhaps through ops that only pass it on.
struct PassedTensor {
  std::size_t entry = 0;
  bool is_quantised = false;
};
using PassedTensors = std::vector<std::vector<PassedTensor>>;  // by value

// More than this on one value, and the node that gathers them owns them all.
constexpr std::size_t kMostPassed = 64;

using Owner = std::pair<const Graph*, NodeId>;

struct Entry {
  explicit Entry(Tensor stored) : tensor(std::move(stored)), elements(tensor.elements()) {}

  Tensor tensor;
  std::int64_t elements = 0;  // more than the tensor's where several are packed into one
  std::optional<Role> role = {};
  std::optional<Owner> owner = {};
  std::optional<Content> content = {};  // looked at once
};

class Bookkeeper {
 public:
  explicit Bookkeeper(const Inferred& model) : model_(model) {}

  std::vector<Entry> run() {
    follow(model_.graph, PassedTensors(model_.graph.value_count()));
    const std::size_t run = entries_.size();
    for (const auto& graph : model_.not_run) follow(*graph, PassedTensors(graph->value_count()));
    for (std::size_t i = run; i < entries_.size(); ++i) entries_[i].owner.reset();
    return std::move(entries_);
  }

 private:
  void follow(const Graph& graph, PassedTensors carried) {
    for (const auto& [value, tensor] : graph.initializers()) {
      carried[value.number].push_back({entries_.size(), false});
      entries_.emplace_back(tensor);
    }
    for (std::uint32_t i = 0; i < graph.node_count(); ++i) visit(graph, NodeId{i}, carried);
  }

  void visit(const Graph& graph, NodeId id, PassedTensors& carried) {
    const Node& node = graph.node(id);
    if (graph::holds_subgraph(node)) return enter_bodies(graph, id, carried);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].is_valid()) continue;
      const auto passed = carried[node.inputs[i].number];
      if (!passed.empty()) use(graph, id, i, passed, carried);
    }
    const auto* stored = node.get<Tensor>("value");
    const bool is_named = !node.outputs.empty() && node.outputs[0].is_valid();
    if (stored != nullptr && node.is("Constant") && is_named) {
      carried[node.outputs[0].number].push_back({entries_.size(), false});
      entries_.emplace_back(*stored);
    }
  }

  // The bodies of ops without a cost rule get no rows: what they use belongs to the op.
  void enter_bodies(const Graph& graph, NodeId id, const PassedTensors& carried) {
    const Node& node = graph.node(id);
    const bool has_rows = node.is("If") || node.is("Loop") || node.is("Scan");
    const auto outer = owner_of_all_;
    if (!has_rows && !owner_of_all_) owner_of_all_ = Owner{&graph, id};
    for_each_subgraph(node, [&](const Graph& body) { enter(node, body, carried); });
    owner_of_all_ = outer;
  }

  // A body sees what it captures, and the inputs of its node under its own inputs' names.
  void enter(const Node& node, const Graph& body, const PassedTensors& carried) {
    PassedTensors inside(body.value_count());
    for (const auto& capture : body.captures()) {
      inside[capture.inner.number] = carried[capture.outer.number];
    }
    const bool takes_inputs = node.is("Loop") || node.is("Scan");
    for (std::size_t i = 0; takes_inputs && i < body.inputs().size(); ++i) {
      if (node.has_input(i)) inside[body.inputs()[i].number] = carried[node.inputs[i].number];
    }
    follow(body, std::move(inside));
  }

  void use(const Graph& graph, NodeId id, std::size_t input,
           const std::vector<PassedTensor>& passed, PassedTensors& carried) {
    const Node& node = graph.node(id);
    const bool has_room =
        node.has_output(0) && carried[node.outputs[0].number].size() + passed.size() <= kMostPassed;
    const DataType type = entries_[passed.front().entry].tensor.type();
    if (has_room && passes_on(node, input, type, others_are_known(graph, node, input))) {
      for (const ValueId output : node.outputs) {
        if (output.is_valid()) pass_on(node, passed, carried[output.number]);
      }
      return;
    }
    for (const PassedTensor& one : passed) settle(graph, id, input, one);
  }

  static void pass_on(const Node& node, const std::vector<PassedTensor>& passed,
                      std::vector<PassedTensor>& to) {
    for (PassedTensor one : passed) {
      one.is_quantised = one.is_quantised || node.op == "DequantizeLinear";
      to.push_back(one);
    }
  }

  bool others_are_known(const Graph& graph, const Node& node, std::size_t input) const {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (i == input || !node.inputs[i].is_valid()) continue;
      const bool is_root = &graph == &model_.graph;
      const bool known = graph.initializer(node.inputs[i]) != nullptr ||
                         (is_root && model_.known_value(node.inputs[i]) != nullptr);
      if (!known) return false;
    }
    return true;
  }

  // A tensor read in several roles has the strongest: a weight compared somewhere is still a
  // weight.
  void settle(const Graph& graph, NodeId id, std::size_t input, const PassedTensor& one) {
    Entry& entry = entries_[one.entry];
    const Node& node = graph.node(id);
    if (!entry.content && needs_content(node, input, entry.tensor)) {
      entry.content = content_of(entry.tensor);
    }
    const Role role = role_of({graph, id, input, entry.tensor, one.is_quantised,
                               entry.content.value_or(Content::Ordinary)});
    if (entry.role && role <= *entry.role) return;
    entry.owner = owner_of_all_.value_or(Owner{&graph, id});
    entry.role = role;
    if (node.op == "MatMulNBits" && input == 1) entry.elements = unpacked_elements(node, entry);
  }

  // Several weights share a byte: the attributes tell how many there are.
  static std::int64_t unpacked_elements(const Node& node, const Entry& entry) {
    const std::int64_t weights = saturating_multiply(node.int_or("N", 0), node.int_or("K", 0));
    constexpr std::int64_t kMostInAByte = 8;
    const bool is_plausible =
        weights > 0 && weights <= saturating_multiply(kMostInAByte, entry.tensor.elements());
    return is_plausible ? weights : entry.tensor.elements();
  }

  const Inferred& model_;
  std::vector<Entry> entries_;
  std::optional<Owner> owner_of_all_;  // set inside bodies that get no rows
};

// It is not used: classified by its type alone.
Role role_of_unused(const Tensor& tensor) {
  return is_floating(tensor.type()) && tensor.elements() > 1 ? Role::Parameter : Role::Constant;
}

void enter_in(Ledger& ledger, const Entry& entry, std::optional<DataType> stored_as) {
  const std::int64_t elements = entry.elements;
  const std::int64_t bytes = counted_bytes(entry.tensor.type(), entry.tensor.elements(), stored_as);
  const auto add = [](std::int64_t& total, std::int64_t more) {
    total = saturating_add(total, more);
  };
  switch (entry.role.value_or(role_of_unused(entry.tensor))) {
    case Role::Parameter: {
      OwnedParameters& owner_total = entry.owner ? ledger.owned[*entry.owner] : ledger.unowned;
      add(owner_total.parameters, elements);
      add(owner_total.parameter_bytes, bytes);
      return;
    }
    case Role::Statistic:
      add(ledger.statistics, elements);
      add(ledger.statistics_bytes, bytes);
      return;
    case Role::Constant:
      add(ledger.constants, elements);
      add(ledger.constants_bytes, bytes);
      return;
  }
}

}  // namespace

std::int64_t cost::counted_bytes(DataType type, std::int64_t elements,
                                 std::optional<DataType> stored_as) {
  const DataType counted = stored_as && is_floating(type) ? *stored_as : type;
  return byte_size(counted, elements).value_or(std::numeric_limits<std::int64_t>::max());
}

Ledger cost::make_ledger(const Inferred& model, std::optional<DataType> stored_as) {
  Ledger ledger;
  for (const Entry& entry : Bookkeeper(model).run()) enter_in(ledger, entry, stored_as);
  return ledger;
}

// The ledger begins with the graph's own tensors, in order.
std::vector<ValueId> trainable_parameters(const Inferred& model) {
  const std::vector<Entry> entries = Bookkeeper(model).run();
  std::vector<ValueId> found;
  for (std::size_t i = 0; i < model.graph.initializers().size(); ++i) {
    const Entry& entry = entries[i];
    const Role role = entry.role.value_or(role_of_unused(entry.tensor));
    if (role != Role::Parameter || !is_floating(entry.tensor.type())) continue;
    found.push_back(model.graph.initializers()[i].value);
  }
  return found;
}

}  // namespace assay
