#include "assay/verify.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "base/fail.h"

namespace assay {

namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph), defined_(graph.value_count(), false) {}

  void run() {
    check_names();
    check_sources();
    for (std::uint32_t i = 0; i < graph_.node_count(); ++i) check_node(NodeId{i});
    for (const ValueId output : graph_.outputs()) check_output(output);
    for (const Carried& state : graph_.carried()) check_carried(state);
  }

 private:
  static auto as(std::string_view where) {
    return [where] { return where; };
  }

  template <typename Where>
  void check_range(ValueId id, Where where) const {
    if (id.number >= graph_.value_count()) {
      fail_bad_input("graph '{}': {} refers to a value that does not exist", graph_.name, where());
    }
  }

  void check_names() const {
    std::unordered_map<std::string_view, int> seen;
    seen.reserve(graph_.value_count());
    for (const Value& value : graph_.values()) {
      if (value.name.empty()) fail_bad_input("graph '{}': a tensor has an empty name", graph_.name);
      if (++seen[value.name] > 1) {
        fail_bad_input("graph '{}': tensor name '{}' is used for two different tensors",
                       graph_.name, value.name);
      }
    }
  }

  void check_sources() {
    for (const ValueId input : graph_.inputs()) define(input, as("the graph's inputs"));
    for (const auto& initializer : graph_.initializers())
      define(initializer.value, as("the initializers"));
    for (const auto& capture : graph_.captures()) define(capture.inner, as("the captures"));
  }

  // `where` describes the definition; it is called only to report an error.
  template <typename Where>
  void define(ValueId id, Where where) {
    check_range(id, where);
    if (defined_[id.number]) {
      fail_bad_input("tensor '{}' is defined a second time by {}", graph_.value(id).name, where());
    }
    defined_[id.number] = true;
  }

  std::string described(NodeId id) const {
    return fmt::format("{} '{}'", graph_.node(id).op, graph_.display_name(id));
  }

  void check_node(NodeId id) {
    const Node& node = graph_.node(id);
    for (const ValueId input : node.inputs) {
      if (input.is_valid()) check_read(input, id);
    }
    for_each_subgraph(node, [&](const Graph& subgraph) { check_subgraph(subgraph, id); });
    for (const ValueId output : node.outputs) {
      if (output.is_valid()) define(output, [&] { return described(id); });
    }
  }

  void check_subgraph(const Graph& subgraph, NodeId owner) const {
    for (const auto& capture : subgraph.captures()) check_read(capture.outer, owner);
    verify(subgraph);
  }

  void check_read(ValueId id, NodeId reader) const {
    check_range(id, [&] { return described(reader); });
    if (defined_[id.number]) return;
    const NodeId producer = graph_.producer(id);
    if (!producer.is_valid()) {
      fail_bad_input("{} reads tensor '{}', which nothing defines", described(reader),
                     graph_.value(id).name);
    }
    fail_bad_input(
        "{} reads tensor '{}' before {} defines it: the graph has a cycle or its nodes "
        "are not in execution order",
        described(reader), graph_.value(id).name, described(producer));
  }

  void check_output(ValueId id) const {
    check_range(id, as("an output"));
    if (!defined_[id.number]) {
      fail_bad_input("graph '{}': nothing defines its output '{}'", graph_.name,
                     graph_.value(id).name);
    }
  }

  void check_carried(const Carried& state) const {
    const auto is_among = [](std::span<const ValueId> all, ValueId id) {
      return std::ranges::find(all, id) != all.end();
    };
    if (!is_among(graph_.inputs(), state.input) || !is_among(graph_.outputs(), state.output)) {
      fail_bad_input(
          "graph '{}': state is carried from something that is no output, or to "
          "something that is no input",
          graph_.name);
    }
  }

  const Graph& graph_;
  std::vector<bool> defined_;
};

}  // namespace

void verify(const Graph& graph) {
  Verifier(graph).run();
}

}  // namespace assay
