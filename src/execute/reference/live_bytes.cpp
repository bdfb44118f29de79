#include "execute/reference/live_bytes.h"

#include <algorithm>

namespace assay::reference {

void LiveBytes::ignore_stored(const Graph& graph) {
  for (const Initializer& stored : graph.initializers()) {
    if (stored.tensor.byte_size() > 0) uses_[stored.tensor.bytes().data()].is_stored = true;
  }
  for (const Node& node : graph.nodes()) {
    for_each_subgraph(node, [&](const Graph& body) { ignore_stored(body); });
  }
}

void LiveBytes::hold(const RuntimeValue& value) {
  change(value, 1);
  peak_ = std::max(peak_, now_);
}

void LiveBytes::drop(const RuntimeValue& value) {
  change(value, -1);
}

void LiveBytes::forget_all() {
  std::erase_if(uses_, [](const auto& entry) { return !entry.second.is_stored; });
  now_ = 0;
}

void LiveBytes::change(const RuntimeValue& value, std::int64_t by) {
  if (const Tensor* tensor = value.tensor()) change(*tensor, by);
  if (const auto* sequence = value.sequence()) {
    for (const RuntimeValue& element : *sequence) change(element, by);
  }
}

void LiveBytes::change(const Tensor& tensor, std::int64_t by) {
  if (tensor.byte_size() == 0) return;
  const auto [entry, is_new] = uses_.try_emplace(tensor.bytes().data());
  TensorUse& use = entry->second;
  if (use.is_stored) return;
  if (is_new) {
    use.bytes = static_cast<std::int64_t>(tensor.byte_size());
    now_ += use.bytes;
  }
  use.users += by;
  if (use.users > 0) return;
  now_ -= use.bytes;
  uses_.erase(entry);
}

}  // namespace assay::reference
