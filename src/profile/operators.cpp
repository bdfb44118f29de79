#include "profile/operators.h"

#include <algorithm>
#include <set>

#include "memory/sharing.h"
#include "profile/attribute.h"

namespace assay::profile {

namespace {

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

class Joining {
 public:
  Joining(const Inferred& model, const CostSheet& sheet, const MayJoin& may_join)
      : model_(model),
        graph_(model.graph),
        rows_(layer_rows(model.graph, sheet)),
        may_join_(may_join),
        readers_(consumers(model.graph)),
        outputs_(graph_.outputs().begin(), graph_.outputs().end()),
        operator_of_(graph_.node_count(), kNone) {}

  std::vector<FusedOperator> run() {
    for (std::uint32_t i = 0; i < graph_.node_count(); ++i) {
      const NodeId id{i};
      if (cost(id).answer == Answer::Free) continue;
      const NodeId before = joined(id);
      if (before.is_valid()) {
        join(id, before);
      } else {
        begin(id);
      }
    }
    return std::move(operators_);
  }

 private:
  const LayerCost& cost(NodeId id) const { return rows_[id.number].cost; }

  // The node whose operator this one joins; invalid: none.
  NodeId joined(NodeId id) const {
    NodeId best;
    const Node& node = graph_.node(id);
    for (const std::size_t position : memory::overwritable_inputs(node)) {
      if (!node.has_input(position)) continue;
      const NodeId maker = graph_.producer(node.inputs[position]);
      const bool is_later = !best.is_valid() || (maker.is_valid() && maker.number > best.number);
      if (is_later && may_follow(id, node.inputs[position], maker)) best = maker;
    }
    return best;
  }

  bool may_follow(NodeId id, ValueId operand, NodeId maker) const {
    if (!maker.is_valid() || operator_of_[maker.number] == kNone) return false;
    const FusedOperator& into = operators_[operator_of_[maker.number]];
    const bool are_known = into.is_known && cost(id).answer == Answer::Counted;
    const bool is_last = last_[operator_of_[maker.number]] == maker;
    const bool is_private = readers_[operand.number].size() == 1 && !outputs_.contains(operand);
    const bool has_its_shape = cost(id).output_shape == cost(maker).output_shape;
    return are_known && is_last && is_private && has_its_shape &&
           may_join_(cost(id).name, into.name);
  }

  // Stored or known before running; a Gather reads less than there is.
  double weight_bytes(NodeId id) const {
    std::set<ValueId> inputs(graph_.node(id).inputs.begin(), graph_.node(id).inputs.end());
    double bytes = 0;
    for (const ValueId input : inputs) {
      if (!input.is_valid()) continue;
      const Tensor* tensor = graph_.initializer(input);
      if (tensor == nullptr) tensor = model_.known_value(input);
      if (tensor != nullptr) bytes += static_cast<double>(tensor->byte_size());
    }
    return std::min(bytes, static_cast<double>(cost(id).bytes_read));
  }

  StepWork work_of(NodeId id) const {
    const LayerCost& layer = cost(id);
    const double weights = weight_bytes(id);
    return {.flops = 2.0 * static_cast<double>(layer.effective_macs) +
                     static_cast<double>(layer.bias_flops) + static_cast<double>(layer.other_flops),
            .weight_bytes = weights,
            .read_bytes = static_cast<double>(layer.bytes_read) - weights,
            .written_bytes = static_cast<double>(layer.bytes_written)};
  }

  void begin(NodeId id) {
    operator_of_[id.number] = operators_.size();
    operators_.push_back({.name = cost(id).name,
                          .nodes = {id},
                          .work = work_of(id),
                          .is_known = cost(id).answer == Answer::Counted});
    last_.push_back(id);
  }

  void join(NodeId id, NodeId before) {
    const std::size_t at = operator_of_[before.number];
    const StepWork more = work_of(id);
    const auto between = static_cast<double>(cost(before).bytes_written);
    StepWork& work = operators_[at].work;
    work.flops += more.flops;
    work.weight_bytes += more.weight_bytes;
    work.read_bytes += more.read_bytes - between;
    work.written_bytes += more.written_bytes - between;
    operators_[at].fused.push_back(cost(id).name);
    operators_[at].nodes.push_back(id);
    operator_of_[id.number] = at;
    last_[at] = id;
  }

  const Inferred& model_;
  const Graph& graph_;
  const std::vector<ProfileLayer> rows_;
  const MayJoin& may_join_;
  const std::vector<std::vector<NodeId>> readers_;
  const std::set<ValueId> outputs_;
  std::vector<std::size_t> operator_of_;  // by node
  std::vector<FusedOperator> operators_ = {};
  std::vector<NodeId> last_ = {};  // by operator: the node that makes its result
};

}  // namespace

bool joins_any_operator(const std::string& /*layer*/, const std::string& /*into*/) {
  return true;
}

std::vector<FusedOperator> operators_of(const Inferred& model, const CostSheet& sheet,
                                        const MayJoin& may_join) {
  return Joining(model, sheet, may_join).run();
}

}  // namespace assay::profile
