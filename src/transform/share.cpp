#include "transform/share.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

#include "graph/node_kinds.h"

namespace assay::transform {

namespace {

bool is_hidden(const GraphEdit& edit, const Node& node) {
  return std::ranges::none_of(
      node.outputs, [&](ValueId output) { return output.is_valid() && edit.is_visible(output); });
}

bool compute_the_same(const Node& a, const Node& b) {
  if (a.op != b.op || a.domain != b.domain || a.inputs != b.inputs ||
      a.outputs.size() != b.outputs.size() || a.attributes.size() != b.attributes.size())
    return false;
  // Attributes may be in another order.
  for (const Attribute& attribute : a.attributes) {
    if (std::ranges::find(b.attributes, attribute) == b.attributes.end()) return false;
  }
  for (std::size_t i = 0; i < a.outputs.size(); ++i) {
    if (a.has_output(i) != b.has_output(i)) return false;
  }
  return true;
}

std::size_t key_of(const Node& node) {
  std::size_t key = std::hash<std::string>()(node.op);
  for (const ValueId input : node.inputs) key = key * 1'000'003 + input.number;
  return key;
}

// Tensors with equal keys may be equal.
std::size_t key_of(const Tensor& tensor) {
  const auto bytes = tensor.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::size_t key = std::hash<std::string_view>()(text) + static_cast<std::size_t>(tensor.type());
  for (const std::int64_t length : tensor.dims())
    key = key * 1'000'003 + static_cast<std::size_t>(length);
  return key;
}

bool can_share(const GraphEdit& edit, const Initializer& stored) {
  const auto inputs = edit.graph().inputs();
  const bool is_input = std::ranges::find(inputs, stored.value) != inputs.end();
  return !is_input && !edit.is_visible(stored.value) && edit.readers(stored.value) > 0 &&
         stored.tensor.type() != DataType::String;
}

}  // namespace

std::int64_t merge_common_subexpressions(GraphEdit& edit) {
  std::int64_t merged = 0;
  std::unordered_multimap<std::size_t, NodeId> seen;
  for (std::uint32_t i = 0; i < edit.node_count(); ++i) {
    const NodeId id{i};
    if (!edit.is_alive(id)) continue;
    const Node& node = edit.node(id);
    if (graph::is_random(node) || graph::holds_subgraph(node)) continue;
    const auto [begin, end] = seen.equal_range(key_of(node));
    const auto found = std::find_if(begin, end, [&](const auto& other) {
      return compute_the_same(edit.node(other.second), node);
    });
    if (found == end || !is_hidden(edit, node)) {
      seen.emplace(key_of(node), id);
      continue;
    }
    const std::vector<ValueId> from = node.outputs, to = edit.node(found->second).outputs;
    for (std::size_t k = 0; k < from.size(); ++k) {
      if (from[k].is_valid()) edit.replace_value(from[k], to[k]);
    }
    edit.absorb(id, found->second);
    ++merged;
  }
  return merged;
}

std::int64_t share_equal_weights(GraphEdit& edit, std::int64_t smallest) {
  std::int64_t shared = 0;
  std::unordered_multimap<std::size_t, const Initializer*> seen;
  for (const Initializer& stored : edit.graph().initializers()) {
    if (stored.tensor.elements() < smallest || !can_share(edit, stored)) continue;
    const std::size_t key = key_of(stored.tensor);
    const auto [begin, end] = seen.equal_range(key);
    const auto found = std::find_if(
        begin, end, [&](const auto& other) { return other.second->tensor == stored.tensor; });
    if (found == end) {
      seen.emplace(key, &stored);
      continue;
    }
    edit.replace_value(stored.value, found->second->value);
    ++shared;
  }
  return shared;
}

}  // namespace assay::transform
