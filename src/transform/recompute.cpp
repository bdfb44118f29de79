#include "assay/recompute.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <ranges>
#include <tuple>
#include <unordered_set>

#include "base/checked.h"
#include "base/fail.h"
#include "graph/node_kinds.h"
#include "transform/edit.h"

namespace assay {

namespace {

// Whether a second run gives the same result again.
bool is_repeatable(const Node& node) {
  if (graph::holds_subgraph(node)) return false;
  if (node.domain == kOwnDomain) return true;
  if (node.is("Dropout")) return !node.has_input(2) || node.find("seed") != nullptr;
  return !graph::is_random(node);
}

// Outputs after the first are running statistics, which may be updated only once.
bool is_statistic(const Node& node, std::size_t output) {
  return node.is("BatchNormalization") && output > 0;
}

std::int64_t bytes_of_value(const Graph& graph, ValueId value) {
  const ValueType& type = graph.value(value).type;
  if (!type.is_tensor() || !type.has_known_shape()) return 0;
  const auto elements = type.shape->elements();
  return elements ? byte_size(type.element, *elements).value_or(0) : 0;
}

// The forward part of a graph, and what may be computed again there.
class ForwardPart {
 public:
  ForwardPart(const Graph& graph, std::size_t nodes)
      : graph_(graph), nodes_(nodes), last_read_(graph.value_count(), 0) {
    find_constants();
    for (std::size_t i = 0; i < nodes_; ++i) {
      for (const ValueId input : graph_.nodes()[i].inputs) {
        if (input.is_valid()) last_read_[input.number] = i;
      }
    }
  }

  std::size_t nodes() const { return nodes_; }

  // The node that computes an activation; invalid for what a model is given, for constants and for
  // what is computed later.
  NodeId maker(ValueId value) const {
    if (!value.is_valid() || is_constant_[value.number]) return {};
    const NodeId maker = graph_.producer(value);
    return maker.is_valid() && maker.number < nodes_ ? maker : NodeId{};
  }

  // By node: the bytes made before it.
  std::vector<std::int64_t> bytes_before() const {
    std::vector<std::int64_t> before = {0};
    for (std::size_t i = 0; i < nodes_; ++i) {
      std::int64_t bytes = before.back();
      for (const ValueId output : activations(i))
        bytes = saturating_add(bytes, bytes_of_value(graph_, output));
      before.push_back(bytes);
    }
    return before;
  }

  // By node: the bytes that a cut before it would keep.
  std::vector<std::int64_t> bytes_across() const {
    std::vector<std::int64_t> across(nodes_ + 1, 0);
    for (std::size_t i = 0; i < nodes_; ++i) {
      for (const ValueId output : activations(i)) {
        const std::int64_t bytes = bytes_of_value(graph_, output);
        for (std::size_t cut = i + 1; cut <= last_read_[output.number]; ++cut)
          across[cut] = saturating_add(across[cut], bytes);
      }
    }
    return across;
  }

 private:
  void find_constants() {
    is_constant_.assign(graph_.value_count(), false);
    for (const Initializer& one : graph_.initializers()) is_constant_[one.value.number] = true;
    for (std::size_t i = 0; i < nodes_; ++i) {
      const Node& node = graph_.nodes()[i];
      const bool is_constant =
          !graph::is_random(node) && std::ranges::all_of(node.inputs, [&](ValueId id) {
            return !id.is_valid() || is_constant_[id.number];
          });
      for (const ValueId output : node.outputs) {
        if (output.is_valid() && is_constant) is_constant_[output.number] = true;
      }
    }
  }

  std::vector<ValueId> activations(std::size_t node) const {
    std::vector<ValueId> made;
    for (const ValueId output : graph_.nodes()[node].outputs) {
      if (maker(output).is_valid()) made.push_back(output);
    }
    return made;
  }

  const Graph& graph_;
  std::size_t nodes_ = 0;
  std::vector<bool> is_constant_;       // by value
  std::vector<std::size_t> last_read_;  // by value: the last forward node that reads it
};

// Near `wanted` bytes, up to a quarter of a piece away, the cut that keeps the least.
std::size_t best_cut(const std::vector<std::int64_t>& before,
                     const std::vector<std::int64_t>& across, double wanted, double piece) {
  const auto rank = [&](std::size_t cut) {
    const double distance = std::abs(static_cast<double>(before[cut]) - wanted);
    const bool is_near = distance <= piece / 4;
    return std::tuple(!is_near, is_near ? across[cut] : 0, distance);
  };
  return std::ranges::min(std::views::iota(std::size_t{0}, before.size()), {}, rank);
}

// By forward node: the number of its piece.
std::vector<std::size_t> pieces_of(const ForwardPart& forward, std::size_t pieces) {
  const auto before = forward.bytes_before();
  const auto across = forward.bytes_across();
  const double piece = static_cast<double>(before.back()) / static_cast<double>(pieces);
  std::vector<bool> is_cut(forward.nodes() + 1, false);
  for (std::size_t i = 1; i < pieces; ++i)
    is_cut[best_cut(before, across, static_cast<double>(i) * piece, piece)] = true;
  std::vector<std::size_t> piece_of;
  for (std::size_t i = 0; i < forward.nodes(); ++i) {
    const std::size_t previous = i == 0 ? 0 : piece_of.back();
    piece_of.push_back(previous + (i > 0 && is_cut[i] ? 1 : 0));
  }
  return piece_of;
}

std::vector<bool> captured_values(const Graph& graph) {
  std::vector<bool> is_captured(graph.value_count(), false);
  for (const Node& node : graph.nodes()) {
    for_each_subgraph(node, [&](const Graph& body) {
      for (const Capture& capture : body.captures()) is_captured[capture.outer.number] = true;
    });
  }
  return is_captured;
}

// By value: whether it stays until its last reader, be it forward or backward.
std::vector<bool> kept_values(const Graph& graph, const ForwardPart& forward,
                              const std::vector<std::size_t>& piece_of) {
  std::vector<bool> is_kept = captured_values(graph);
  for (const ValueId output : graph.outputs()) is_kept[output.number] = true;
  for (std::size_t i = 0; i < forward.nodes(); ++i) {
    const Node& node = graph.nodes()[i];
    const bool is_last_piece = piece_of[i] == piece_of.back();
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const bool stays = is_last_piece || !is_repeatable(node) || is_statistic(node, k);
      if (node.has_output(k) && stays) is_kept[node.outputs[k].number] = true;
    }
    for (const ValueId input : node.inputs) {
      const NodeId maker = forward.maker(input);
      if (maker.is_valid() && piece_of[maker.number] != piece_of[i]) is_kept[input.number] = true;
    }
  }
  return is_kept;
}

// A graph in which forward values are computed again where later nodes need them.
class Repetition {
 public:
  Repetition(const Graph& graph, const ForwardPart& forward, std::vector<std::size_t> piece_of)
      : graph_(graph),
        forward_(forward),
        piece_of_(std::move(piece_of)),
        is_kept_(kept_values(graph, forward, piece_of_)),
        again_(graph.value_count()) {
    for (const Value& value : graph.values()) names_.insert(value.name);
    find_repeated_nodes();
  }

  Recomputed run() && {
    result_.graph = graph_.declarations();
    for (const auto& [value, tensor] : graph_.initializers())
      result_.graph.add_initializer(value, tensor);
    for (std::uint32_t i = 0; i < forward_.nodes(); ++i) add(NodeId{i}, graph_.nodes()[i], false);
    for (std::uint32_t i = static_cast<std::uint32_t>(forward_.nodes()); i < graph_.node_count();
         ++i) {
      Node node = graph_.nodes()[i];
      for (const ValueId input : node.inputs) repeat_piece_of(input);
      read_again(node);
      add(NodeId{i}, std::move(node), false);
    }
    return std::move(result_);
  }

 private:
  // The forward node to repeat where the value is read late; invalid if it is still there.
  NodeId lost_maker(ValueId value) const {
    const NodeId maker = forward_.maker(value);
    return maker.is_valid() && !is_kept_[value.number] ? maker : NodeId{};
  }

  // Makers of what later nodes read, and of what those read: all within their piece, as whatever
  // crosses a cut is kept.
  void find_repeated_nodes() {
    is_repeated_.assign(forward_.nodes(), false);
    for (std::size_t i = graph_.node_count(); i-- > 0;) {
      if (i < forward_.nodes() && !is_repeated_[i]) continue;
      for (const ValueId input : graph_.nodes()[i].inputs) {
        const NodeId maker = lost_maker(input);
        if (maker.is_valid()) is_repeated_[maker.number] = true;
      }
    }
  }

  void repeat_piece_of(ValueId value) {
    const NodeId maker = lost_maker(value);
    if (!maker.is_valid() || again_[value.number].is_valid()) return;
    const std::size_t piece = piece_of_[maker.number];
    for (std::uint32_t i = 0; i < forward_.nodes(); ++i) {
      if (is_repeated_[i] && piece_of_[i] == piece) repeat(NodeId{i});
    }
  }

  void repeat(NodeId id) {
    Node node = graph_.node(id);
    node.name = graph_.display_name(id) + "/again";
    read_again(node);
    // Before opset 14, having these outputs is what makes it a training one.
    if (node.is("BatchNormalization") && graph_.opset() >= 14) node.outputs.resize(1);
    for (ValueId& output : node.outputs) {
      if (!output.is_valid()) continue;
      const Value& first = graph_.value(output);
      const ValueId second = result_.graph.add_value(unique_name(first.name), first.type);
      again_[output.number] = second;
      output = second;
    }
    add(id, std::move(node), true);
  }

  void read_again(Node& node) const {
    for (ValueId& input : node.inputs) {
      if (lost_maker(input).is_valid()) input = again_[input.number];
    }
  }

  void add(NodeId origin, Node node, bool is_repeat) {
    result_.graph.add_node(std::move(node));
    result_.origin_of.push_back(origin);
    result_.repeats.push_back(is_repeat);
  }

  std::string unique_name(std::string name) {
    do name += "/again";
    while (!names_.insert(name).second);
    return name;
  }

  const Graph& graph_;
  const ForwardPart& forward_;
  std::vector<std::size_t> piece_of_;  // by forward node
  std::vector<bool> is_kept_;          // by value
  std::vector<bool> is_repeated_;      // by forward node
  std::vector<ValueId> again_;         // by value: the same, computed a second time
  std::unordered_set<std::string> names_;
  Recomputed result_;
};

// 1, 2, 3, 4, 6, 9, …: each a half more than the one before.
std::vector<std::size_t> piece_counts(std::size_t forward_nodes) {
  std::vector<std::size_t> counts = {1};
  while (counts.back() < forward_nodes) {
    const std::size_t next = std::max(counts.back() + 1, counts.back() * 3 / 2);
    counts.push_back(std::min(next, forward_nodes));
  }
  return counts;
}

}  // namespace

std::size_t Recomputed::repeat_count() const {
  return static_cast<std::size_t>(std::ranges::count(repeats, true));
}

Recomputed recompute(const Graph& graph, std::size_t forward_nodes, std::size_t pieces) {
  if (forward_nodes > graph.node_count() || pieces == 0) {
    fail_bad_input("{} pieces of {} forward nodes, the graph has {} nodes", pieces, forward_nodes,
                   graph.node_count());
  }
  const ForwardPart forward(graph, forward_nodes);
  const std::size_t most = std::max<std::size_t>(forward_nodes, 1);
  return Repetition(graph, forward, pieces_of(forward, std::min(pieces, most))).run();
}

Recomputed fit_to_budget(const Graph& graph, std::size_t forward_nodes, std::int64_t budget,
                         const std::function<std::int64_t(const Graph&)>& bytes_of) {
  std::optional<Recomputed> best;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const std::size_t pieces : piece_counts(forward_nodes)) {
    Recomputed candidate = recompute(graph, forward_nodes, pieces);
    const std::int64_t bytes = bytes_of(candidate.graph);
    least = std::min(least, bytes);
    if (bytes > budget) continue;
    if (!best || candidate.repeat_count() < best->repeat_count()) best = std::move(candidate);
    if (pieces == 1) break;  // repeating nothing is the cheapest
  }
  if (!best) {
    fail_bad_input("recomputing activations brings memory down to {} bytes, not to {}", least,
                   budget);
  }
  return std::move(*best);
}

}  // namespace assay
