// A trainable model: parameters and running statistics become inputs, batch norms are in training
// mode.
#include <algorithm>
#include <map>
#include <set>

#include "transform/simplify.h"
#include "transform/training/parts.h"

namespace assay::transform {

namespace {

bool is_batch_norm(const Node& node) {
  return node.is("BatchNormalization") && node.inputs.size() == 5;
}

// Layers exported as several small ops are recognised and differentiated as one op.
Rewritten recognised(const Inferred& model) {
  GraphEdit edit(in_modern_forms(model));
  drop_idle_nodes(edit);
  recognise_layer_norms(edit);
  recognise_gelus(edit);
  drop_unread_nodes(edit);
  return std::move(edit).finish();
}

class TrainableMaker {
 public:
  TrainableMaker(const Rewritten& model, std::span<const ValueId> parameters)
      : model_(model), old_(model.model.graph), parameters_(parameters.begin(), parameters.end()) {}

  Trainable make() {
    made_.graph = old_.declarations();
    free_what_changes();
    for (std::uint32_t i = 0; i < old_.node_count(); ++i) {
      made_.graph.add_node(trained(old_.node(NodeId{i})));
      const auto& origins = model_.origins[i];
      made_.layers.push_back(origins.empty() ? NodeId{} : origins.back());
    }
    for (const auto& [running, latest] : latest_) made_.statistics.push_back({running, latest});
    return std::move(made_);
  }

 private:
  bool is_stored(ValueId id) const { return id.is_valid() && old_.initializer(id) != nullptr; }

  std::set<ValueId> running_statistics() const {
    std::set<ValueId> found;
    for (const Node& node : old_.nodes()) {
      if (!is_batch_norm(node)) continue;
      for (const std::size_t input : {3u, 4u}) {
        if (is_stored(node.inputs[input])) found.insert(node.inputs[input]);
      }
    }
    return found;
  }

  void free_what_changes() {
    const std::set<ValueId> statistics = running_statistics();
    for (const auto& [value, tensor] : old_.initializers()) {
      if (statistics.contains(value)) {
        made_.graph.add_input(value);
      } else if (parameters_.contains(value)) {
        made_.graph.add_input(value);
        made_.parameters.push_back(value);
      } else {
        made_.graph.add_initializer(value, tensor);
      }
    }
  }

  Node trained(Node node) {
    if (!is_batch_norm(node) || !is_stored(node.inputs[3]) || !is_stored(node.inputs[4])) {
      return node;
    }
    node.outputs.resize(3);
    for (const std::size_t i : {1u, 2u}) {
      const ValueId running = node.inputs[2 + i];
      if (!node.outputs[i].is_valid()) {
        const std::string name = made_.graph.value(running).name + "/next";
        node.outputs[i] =
            made_.graph.add_value(unused_name(made_.graph, name), old_.value(running).type);
      }
      // A layer that is used twice updates its statistics twice, one after the other.
      const auto known = latest_.find(running);
      if (known != latest_.end()) node.inputs[2 + i] = known->second;
      latest_[running] = node.outputs[i];
    }
    if (old_.opset() >= 14) node.set("training_mode", std::int64_t{1});
    return node;
  }

  const Rewritten& model_;
  const Graph& old_;
  std::set<ValueId> parameters_;
  std::map<ValueId, ValueId> latest_;  // what replaces a running statistic
  Trainable made_;
};

}  // namespace

std::string unused_name(const Graph& graph, const std::string& name) {
  std::string candidate = name;
  for (int i = 2; graph.find_value(candidate); ++i) candidate = name + "." + std::to_string(i);
  return candidate;
}

Trainable trainable(const Inferred& model, std::span<const ValueId> parameters) {
  const Rewritten simple = recognised(model);
  return TrainableMaker(simple, parameters).make();
}

}  // namespace assay::transform
