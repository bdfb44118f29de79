#include "onnx_io/graph_reader.h"

#include <algorithm>
#include <unordered_set>

#include "base/fail.h"
#include "base/text.h"
#include "graph/newer_opsets.h"
#include "onnx_io/canonical_order.h"
#include "onnx_io/machine_layouts.h"
#include "onnx_io/old_opsets.h"
#include "onnx_io/tensor_reader.h"
#include "onnx_io/type_reader.h"

namespace assay::onnx {

namespace {

constexpr std::size_t kDeepestLevel = 100;
// A node of a real model takes more bytes than this: no memory is reserved for more nodes than can
// follow.
constexpr std::size_t kFewestNodeBytes = 16;

}  // namespace

void check_standard_opset(std::int64_t version) {
  if (version >= kOldestOpset && version <= graph::kNewestReadableOpset) return;
  fail_bad_input(
      "it uses operator set {}, assay knows {} to {}: re-export it with opset_version=17", version,
      kOldestOpset, graph::kNewestReadableOpset);
}

Level::Level(GraphReader& reader, std::string label) : levels_(reader.levels_) {
  levels_.push_back(std::move(label));
  if (levels_.size() <= kDeepestLevel) return;
  const std::string path = reader.path();
  levels_.pop_back();
  fail_bad_input("subgraphs and functions are nested more than {} deep: {}", kDeepestLevel, path);
}

std::string GraphReader::path() const {
  constexpr std::size_t kShownAtEachEnd = 3;
  if (levels_.size() <= 2 * kShownAtEachEnd) return join(levels_, " > ");
  const std::span<const std::string> all(levels_);
  return fmt::format("{} > … > {}", join(all.first(kShownAtEachEnd), " > "),
                     join(all.last(kShownAtEachEnd), " > "));
}

Graph GraphReader::read(std::string_view graph_message) {
  Graph graph;
  read_graph(graph_message, graph, nullptr);
  const auto standard = opsets_.find("");
  if (standard != opsets_.end() && standard->second < kUpgradedOpset) {
    graph = upgraded_from(standard->second, graph);
    standard->second = kUpgradedOpset;
  }
  if (has_machine_layouts(graph)) graph = without_machine_layouts(graph);
  put_in_canonical_order(graph, calls_ > 0);
  graph.opsets = opsets_;
  return graph;
}

void GraphReader::read_graph(std::string_view message, Graph& graph, Scope* around) {
  const GraphFields fields = read_graph_fields(message, source_);
  graph.name = fields.name;
  graph.doc = fields.doc;
  Scope scope(graph, source_, around);
  const std::size_t nodes = std::min(fields.nodes.size(), message.size() / kFewestNodeBytes);
  const std::size_t values = fields.inputs.size() + fields.initializers.size() + nodes;
  graph.reserve(values, nodes);
  scope.reserve(values);

  for (const auto info_message : fields.value_infos) {
    const ValueInfoFields info = read_value_info(info_message, source_);
    scope.entry(info.name).declared_type = info.type;
  }
  std::vector<ValueInfoFields> outputs;
  for (const auto output_message : fields.outputs) {
    outputs.push_back(read_value_info(output_message, source_));
    Scope::Name& entry = scope.entry(outputs.back().name);
    entry.is_graph_output = true;
    if (!outputs.back().type.empty()) entry.declared_type = outputs.back().type;
  }
  read_inputs(fields, scope);
  read_initializers(fields, scope);
  for (const auto node_message : fields.nodes) read_node(node_message, scope);
  read_outputs(outputs, scope);
}

// Until IR version 3 every initializer was listed as an input too: it is an initializer only.
void GraphReader::read_inputs(const GraphFields& fields, Scope& scope) {
  std::unordered_set<std::string_view> stored;
  stored.reserve(fields.initializers.size());
  for (const auto message : fields.initializers) {
    for (FieldReader field(message, source_, "a tensor"); field.next();) {
      if (field.number() == tensor_field::kName) stored.insert(field.bytes());
    }
  }
  for (const auto message : fields.inputs) {
    const ValueInfoFields info = read_value_info(message, source_);
    if (stored.contains(info.name)) continue;
    const ValueId id = scope.define(info.name);
    if (!info.type.empty()) scope.graph().value(id).type = read_type(info.type, source_);
    scope.graph().add_input(id);
  }
}

void GraphReader::read_initializers(const GraphFields& fields, Scope& scope) {
  for (const auto message : fields.initializers) {
    NamedTensor stored = read_tensor(message, source_, external_);
    scope.graph().add_initializer(scope.define(stored.name), std::move(stored.tensor));
  }
}

void GraphReader::read_outputs(const std::vector<ValueInfoFields>& outputs, Scope& scope) {
  for (const auto& info : outputs) {
    if (info.name.empty()) fail_bad_input("graph '{}': an output has no name", scope.graph().name);
    const ValueId id = scope.read(info.name);
    if (!id.is_valid()) {
      fail_bad_input("graph '{}': its output '{}' is an input that was left out",
                     scope.graph().name, info.name);
    }
    Value& value = scope.graph().value(id);
    if (value.type == ValueType() && !info.type.empty()) {
      value.type = read_type(info.type, source_);
    }
    scope.graph().add_output(id);
  }
}

}  // namespace assay::onnx
