#include "profile/import/join.h"

#include <algorithm>
#include <set>

#include "profile/import/alignment.h"
#include "profile/import/node_names.h"
#include "profile/import/op_kinds.h"

namespace assay::profile {

namespace {

constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

class KernelJoin {
 public:
  KernelJoin(const Graph& graph, const std::vector<RuntimeKernel>& kernels)
      : graph_(graph),
        kernels_(kernels),
        readers_(consumers(graph)),
        names_(graph),
        has_body_(kernels.size()),
        joined_(kernels.size()),
        owner_(graph.node_count(), kNobody) {
    for (const Node& node : graph.nodes()) node_kinds_.push_back(op_kind(node.op));
    for (const RuntimeKernel& kernel : kernels) {
      kernel_kinds_.push_back(op_kind(kernel.op));
      if (kernel.parent != RuntimeKernel::kNoParent) has_body_[kernel.parent] = true;
    }
  }

  std::vector<JoinedKernel> run() {
    find_by_name();
    for (std::size_t i = 0; i < kernels_.size(); ++i) complete_with_main_node(i);
    find_by_position();
    fill_gaps();
    give_fused_nodes_to_producers();
    give_fused_nodes_to_consumers();
    attach_layout_changes();
    attach_bodies();
    for (JoinedKernel& one : joined_) std::ranges::sort(one.nodes);
    return std::move(joined_);
  }

 private:
  bool is_found(std::size_t kernel) const { return joined_[kernel].by != FoundBy::Nothing; }
  bool is_free(std::uint32_t node) const { return owner_[node] == kNobody; }

  // Several kernels may name one node; its first one owns it.
  void give(std::size_t kernel, std::uint32_t node, FoundBy by) {
    JoinedKernel& one = joined_[kernel];
    if (one.by == FoundBy::Nothing) one.by = by;
    if (std::ranges::find(one.nodes, node) == one.nodes.end()) one.nodes.push_back(node);
    if (is_free(node)) owner_[node] = kernel;
  }

  // --- names

  void find_by_name() {
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      if (!kernels_[i].is_layout_change) find_exactly(i);
    }
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      if (!is_found(i) && !kernels_[i].is_layout_change) find_extended(i);
    }
  }

  void find_exactly(std::size_t at) {
    const RuntimeKernel& kernel = kernels_[at];
    if (kernel.is_region) return find_region(at);
    for (const std::string& name : kernel.fused_names) {
      if (const auto node = names_.exactly(name)) give(at, *node, FoundBy::Name);
    }
    for (const std::string& name : kernel.node_names) {
      if (is_found(at)) return;
      if (const auto node = names_.exactly(name)) give(at, *node, FoundBy::Name);
    }
  }

  void find_extended(std::size_t at) {
    for (const std::string& name : kernels_[at].node_names) {
      const auto node = names_.extended(name);
      if (!node) continue;
      return give(at, *node, FoundBy::Name);
    }
  }

  // All nodes from the first to the last, as far as they depend on the first. A region may begin
  // with a stored tensor instead of a node.
  void find_region(std::size_t at) {
    const auto& ends = kernels_[at].fused_names;
    const auto first = ends.empty() ? std::nullopt : found_either_way(ends.front());
    const auto last = ends.empty() ? std::nullopt : found_either_way(ends.back());
    if (!first || !last) return;
    const auto [low, high] = std::minmax(*first, *last);
    give(at, low, FoundBy::Name);
    give(at, high, FoundBy::Name);
    std::vector<bool> depends(graph_.node_count());
    depends[low] = true;
    for (std::uint32_t node = low + 1; node < high; ++node) {
      for (const ValueId input : graph_.node(NodeId{node}).inputs) {
        const NodeId producer = input.is_valid() ? graph_.producer(input) : NodeId{};
        if (producer.is_valid() && depends[producer.number]) depends[node] = true;
      }
      if (depends[node] && is_free(node)) give(at, node, FoundBy::Name);
    }
  }

  std::optional<std::uint32_t> found_either_way(const std::string& name) const {
    if (const auto node = names_.exactly(name)) return node;
    if (const auto reader = first_reader(name)) return reader;
    return names_.extended(name);
  }

  // Of the stored tensor with this name.
  std::optional<std::uint32_t> first_reader(const std::string& name) const {
    for (std::uint32_t node = 0; node < graph_.node_count(); ++node) {
      for (const ValueId input : graph_.node(NodeId{node}).inputs) {
        if (input.is_valid() && graph_.value(input).name == name) return node;
      }
    }
    return {};
  }

  // A kernel may bear the name of the last node that was fused into it: the convolution is before.
  void complete_with_main_node(std::size_t at) {
    constexpr int kMostSteps = 8;
    const std::string& kind = kernel_kinds_[at];
    if (!is_found(at) || kind.empty()) return;
    const auto fits = [&](std::uint32_t node) { return may_stand_for(kind, node_kinds_[node]); };
    if (std::ranges::any_of(joined_[at].nodes, fits)) return;
    std::vector<std::uint32_t> path;
    std::uint32_t node = joined_[at].nodes.front();
    for (int step = 0; step < kMostSteps; ++step) {
      const auto before = free_producer(node);
      if (!before) return;
      node = *before;
      path.push_back(node);
      if (!fits(node)) continue;
      for (const std::uint32_t one : path) give(at, one, FoundBy::Name);
      return;
    }
  }

  // The node that computes the first operand of this one that is no constant, unless it has a
  // kernel.
  std::optional<std::uint32_t> free_producer(std::uint32_t node) const {
    for (const ValueId input : graph_.node(NodeId{node}).inputs) {
      const NodeId producer = input.is_valid() ? graph_.producer(input) : NodeId{};
      if (producer.is_valid() && is_free(producer.number)) return producer.number;
    }
    return {};
  }

  // --- positions

  bool may_be_aligned(std::size_t kernel) const {
    return !kernels_[kernel].is_layout_change &&
           kernels_[kernel].parent == RuntimeKernel::kNoParent;
  }

  bool has_other_shape(std::size_t kernel, std::uint32_t node) const {
    const auto& dims = kernels_[kernel].output_dims;
    const Node& one = graph_.node(NodeId{node});
    if (!dims || !one.has_output(0)) return false;
    const auto& type = graph_.value(one.outputs[0]).type;
    return type.has_known_shape() && *type.shape != Shape(*dims);
  }

  int score(std::size_t kernel, std::uint32_t node) const {
    constexpr int kSameName = 8;
    constexpr int kSameKind = 3;
    constexpr int kFused = 1;
    if (is_found(kernel)) return owner_[node] == kernel ? kSameName : 0;
    if (!is_free(node) || has_other_shape(kernel, node)) return 0;
    if (kernel_kinds_[kernel] == node_kinds_[node]) return kSameKind;
    return may_stand_for(kernel_kinds_[kernel], node_kinds_[node]) ? kFused : 0;
  }

  bool is_anything_left() const {
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      if (!is_found(i) && may_be_aligned(i)) return true;
    }
    return false;
  }

  void find_by_position() {
    if (!is_anything_left()) return;
    std::vector<std::size_t> aligned;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      if (may_be_aligned(i)) aligned.push_back(i);
    }
    const auto pairs =
        align(aligned.size(), graph_.node_count(), [&](std::size_t a, std::size_t b) {
          return score(aligned[a], static_cast<std::uint32_t>(b));
        });
    for (const auto& [a, b] : pairs) {
      if (!is_found(aligned[a])) give(aligned[a], static_cast<std::uint32_t>(b), FoundBy::Position);
    }
  }

  // A kernel between two others computed the nodes between theirs.
  void fill_gaps() {
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      if (is_found(i) || !may_be_aligned(i) || is_often_folded(kernel_kinds_[i])) continue;
      if (has_body_[i]) continue;  // its body's kernels have the nodes
      const auto before = last_node_before(i);
      const auto after = first_node_after(i);
      for (std::uint32_t node = before; node < after; ++node) {
        if (is_free(node) && reads_something_computed(node)) give(i, node, FoundBy::Position);
      }
    }
  }

  std::uint32_t last_node_before(std::size_t kernel) const {
    for (std::size_t i = kernel; i-- > 0;) {
      if (is_found(i) && may_be_aligned(i)) return std::ranges::max(joined_[i].nodes) + 1;
    }
    return 0;
  }

  std::uint32_t first_node_after(std::size_t kernel) const {
    for (std::size_t i = kernel + 1; i < kernels_.size(); ++i) {
      if (is_found(i) && may_be_aligned(i)) return std::ranges::min(joined_[i].nodes);
    }
    return static_cast<std::uint32_t>(graph_.node_count());
  }

  bool reads_something_computed(std::uint32_t node) const {
    return std::ranges::any_of(graph_.node(NodeId{node}).inputs, [&](ValueId input) {
      return input.is_valid() && graph_.initializer(input) == nullptr;
    });
  }

  // --- nodes without a kernel

  void give_fused_nodes_to_producers() {
    for (std::uint32_t node = 0; node < graph_.node_count(); ++node) {
      if (!is_free(node)) continue;
      for (const ValueId input : graph_.node(NodeId{node}).inputs) {
        const NodeId producer = input.is_valid() ? graph_.producer(input) : NodeId{};
        if (!producer.is_valid() || is_free(producer.number)) continue;
        give(owner_[producer.number], node, FoundBy::Position);
        break;
      }
    }
  }

  void give_fused_nodes_to_consumers() {
    for (auto node = static_cast<std::uint32_t>(graph_.node_count()); node-- > 0;) {
      if (!is_free(node)) continue;
      for (const ValueId output : graph_.node(NodeId{node}).outputs) {
        if (!output.is_valid()) continue;
        const auto& readers = readers_[output.number];
        const auto owned =
            std::ranges::find_if(readers, [&](NodeId reader) { return !is_free(reader.number); });
        if (owned == readers.end()) continue;
        give(owner_[owned->number], node, FoundBy::Position);
        break;
      }
    }
  }

  // --- kernels that are no nodes

  // A change of layout serves the kernel after it, the last one the kernel before. A folded layer
  // belongs to the kernel before.
  void attach_layout_changes() {
    std::vector<std::pair<std::size_t, JoinedKernel>> attached;
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      if (is_found(i) || kernels_[i].parent != RuntimeKernel::kNoParent) continue;
      const bool is_folded = is_often_folded(kernel_kinds_[i]);
      if (!is_folded && !kernels_[i].is_layout_change && !only_moves(kernel_kinds_[i])) continue;
      if (const auto node = named_by(i)) {
        attached.push_back({i, {{*node}, FoundBy::Name}});
        continue;
      }
      const std::size_t served = is_folded ? computed_before(i) : served_by(i);
      if (served != kNobody) attached.push_back({i, {{main_node(served)}, FoundBy::Position}});
    }
    for (auto& [kernel, joined] : attached) joined_[kernel] = std::move(joined);
  }

  // The node that a change of layout says it serves.
  std::optional<std::uint32_t> named_by(std::size_t change) const {
    for (const std::string& name : kernels_[change].node_names) {
      if (const auto node = names_.exactly(name)) return node;
    }
    return {};
  }

  bool computes(std::size_t kernel) const {
    return is_found(kernel) && !kernels_[kernel].is_layout_change;
  }

  std::size_t served_by(std::size_t change) const {
    for (std::size_t i = change + 1; i < kernels_.size(); ++i) {
      if (computes(i)) return i;
    }
    return computed_before(change);
  }

  std::size_t computed_before(std::size_t kernel) const {
    for (std::size_t i = kernel; i-- > 0;) {
      if (computes(i)) return i;
    }
    return kNobody;
  }

  std::uint32_t main_node(std::size_t kernel) const {
    for (const std::uint32_t node : joined_[kernel].nodes) {
      if (kernel_kinds_[kernel] == node_kinds_[node]) return node;
    }
    return joined_[kernel].nodes.front();
  }

  // Kernels in the body of a node belong to that node. A node that is not in the graph, since its
  // condition is known, belongs to what its body computed.
  void attach_bodies() {
    std::vector<bool> has_nodes(kernels_.size());
    for (std::size_t i = 0; i < kernels_.size(); ++i) has_nodes[i] = is_found(i);
    for (std::size_t i = kernels_.size(); i-- > 0;) {  // the first kernel of a body counts
      const std::size_t parent = kernels_[i].parent;
      if (!is_found(i) || parent == RuntimeKernel::kNoParent || has_nodes[parent]) continue;
      joined_[parent] = {{joined_[i].nodes.front()}, FoundBy::Position};
    }
    for (std::size_t i = 0; i < kernels_.size(); ++i) {
      if (is_found(i) || kernels_[i].parent == RuntimeKernel::kNoParent) continue;
      const JoinedKernel& around = joined_[kernels_[i].parent];
      if (around.by != FoundBy::Nothing) joined_[i] = {{around.nodes.front()}, around.by};
    }
  }

  const Graph& graph_;
  const std::vector<RuntimeKernel>& kernels_;
  std::vector<std::vector<NodeId>> readers_;
  NodeNames names_;
  std::vector<bool> has_body_;  // by kernel: others ran in its body
  std::vector<JoinedKernel> joined_;
  std::vector<std::size_t> owner_;  // by node: the kernel that its work counts in
  std::vector<std::string> node_kinds_;
  std::vector<std::string> kernel_kinds_;
};

}  // namespace

std::vector<JoinedKernel> join_kernels(const Graph& graph,
                                       const std::vector<RuntimeKernel>& kernels) {
  return KernelJoin(graph, kernels).run();
}

}  // namespace assay::profile
