// Inference over one graph, node by node in execution order, into a new graph.
//
// Values keep the numbers of the source graph; those of an inlined `If` are appended. Each
// node is visited once, so the time is linear in the graph. Subgraphs are inferred by an Inference
// of their own, one level deeper.
#pragma once

#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "assay/infer.h"
#include "infer/context.h"

namespace assay::infer {

// What inference learned so far; rolled back if a subgraph is inferred again.
struct Findings {
  static constexpr std::size_t kMostWarnings = 20;

  std::vector<std::string> warnings = {};
  std::vector<GraphPtr> not_run = {};

  void warn(std::string warning) {
    if (warnings.size() < kMostWarnings) warnings.push_back(std::move(warning));
  }

  // A position in the findings, and the rollback to it.
  struct Mark {
    std::size_t warnings = 0;
    std::size_t not_run = 0;
  };
  Mark mark() const { return {warnings.size(), not_run.size()}; }
  void take_back(const Mark& mark) {
    warnings.resize(mark.warnings);
    not_run.resize(mark.not_run);
  }
};

// What all levels of one `infer_shapes` share.
struct InferenceLimits {
  // Elements that folding may still read and write: limits the time an untrusted file can cost.
  std::int64_t fold_budget = std::int64_t{1} << 24;
  Findings findings = {};
};

class Inference {
 public:
  Inference(Graph source, InferenceLimits& limits, int depth);

  // Before `run`: what is known of a value from outside.
  void set_type(ValueId id, ValueType type);
  void set_known(ValueId id, const Tensor& content);
  void run();

  const Graph& graph() const { return result_; }
  const std::vector<Tensor>& known() const { return known_; }
  const Tensor* known_value(ValueId id) const;
  int depth() const { return depth_; }
  InferenceLimits& limits() { return limits_; }
  std::vector<UnresolvedNode>& unresolved() { return unresolved_; }
  Graph take_graph() { return std::move(result_); }
  std::vector<Tensor> take_known() { return std::move(known_); }

  // An Inference of a subgraph of this graph whose captures are bound to this graph's values.
  Inference inference_of(const Graph& subgraph);
  // The inferred subgraph as an attribute's value.
  static GraphPtr finished(Inference& inference);

 private:
  void enter_subgraph();  // counts the depth, which has a limit
  void add_declarations();
  void visit(Node node);
  std::optional<bool> visit_control_flow(Node& node, InferContext& context);
  std::optional<bool> known_condition(const Node& node) const;
  void inline_branch(const Node& node, bool condition);
  std::vector<ValueId> values_of_branch(const Graph& branch, const Node& node);
  Node moved_node(const Node& node, const std::vector<ValueId>& mapped) const;
  std::string unique_name(const std::string& wanted);
  void settle_outputs(const Node& node, InferContext& context);
  void settle(ValueId id, ValueType inferred, const InferContext& context);
  void warn_of_contradiction(ValueId id, const ValueType& inferred, const InferContext& context);
  void fold(const Node& node, const InferContext& context);
  bool can_fold(const Node& node) const;
  std::int64_t folding_work(const Node& node) const;
  void note_unresolved(const Node& node, const InferContext& context, bool has_rule);
  ValueId new_value(const std::string& name, ValueType type);

  Graph source_;
  Graph result_;
  std::vector<Tensor> known_;
  std::vector<UnresolvedNode> unresolved_;
  std::unordered_set<std::string> names_;  // filled when the first name must be unique
  std::int64_t suffix_ = 0;
  InferenceLimits& limits_;
  int depth_ = 0;
};

// Whether content of this type and size is tracked: shape arithmetic is, weights are not.
bool is_worth_knowing(DataType type, std::int64_t elements);

// What a Shape or Size node returns for an input of this shape; nothing if it is not all known.
std::optional<Tensor> folded_shape(const Node& node, const Shape& shape);

// The graph again, with the outer ends of its captures replaced: `mapped[old.number]` is the new.
Graph with_captures_moved(const Graph& graph, const std::vector<ValueId>& mapped);

// The rules of If (with an unknown condition), Loop and Scan; they replace the node's subgraphs by
// inferred ones. When only one branch of an If fits the shapes, the condition that takes it is
// returned and nothing else is done.
std::optional<bool> infer_if(Inference& inference, Node& node, InferContext& context);
void infer_loop(Inference& inference, Node& node, InferContext& context);
void infer_scan(Inference& inference, Node& node, InferContext& context);

// The type that holds for both; dimensions that differ are unknown. Fails if the types cannot be
// merged.
ValueType either_type(const InferContext& context, const ValueType& a, const ValueType& b,
                      const std::string& what);

}  // namespace assay::infer
