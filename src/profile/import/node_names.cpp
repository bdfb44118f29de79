#include "profile/import/node_names.h"

namespace assay::profile {

namespace {

constexpr std::string_view kSeparators = "/_ .:-;";

// "Add", "ReorderInput": nothing but letters.
bool is_plain_word(std::string_view name) {
  return name.find_first_of(kSeparators) == std::string_view::npos &&
         name.find_first_of("0123456789") == std::string_view::npos;
}

}  // namespace

NodeNames::NodeNames(const Graph& graph) {
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    if (!graph.node(NodeId{i}).name.empty()) roots_.try_emplace(graph.node(NodeId{i}).name, i);
  }
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    for (const ValueId output : graph.node(NodeId{i}).outputs) {
      if (output.is_valid()) roots_.try_emplace(graph.value(output).name, i);
    }
  }
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) add_bodies(graph.node(NodeId{i}), i);
}

void NodeNames::add_bodies(const Node& node, std::uint32_t root) {
  for_each_subgraph(node, [&](const Graph& body) {
    for (const Node& inner : body.nodes()) {
      if (!inner.name.empty()) roots_.try_emplace(inner.name, root);
      for (const ValueId output : inner.outputs) {
        if (output.is_valid()) roots_.try_emplace(body.value(output).name, root);
      }
      add_bodies(inner, root);
    }
  });
}

std::optional<std::uint32_t> NodeNames::exactly(const std::string& name) const {
  const auto found = roots_.find(name);
  return found == roots_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::uint32_t> NodeNames::extended(std::string_view name) const {
  constexpr int kMostTries = 64;  // a name may be long
  for (int i = 0; i < kMostTries; ++i) {
    const auto end = name.find_last_of(kSeparators);
    if (end == std::string_view::npos || end == 0) return {};
    name = name.substr(0, end);
    if (is_plain_word(name)) return {};
    if (const auto found = exactly(std::string(name))) return found;
  }
  return {};
}

}  // namespace assay::profile
