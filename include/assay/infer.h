// Shape inference: fills in the type and shape of every value that can be known without running.
//
// Shape arithmetic (Shape → Gather → Concat → Reshape and the like) is folded during inference with
// the reference kernels. An `If` whose condition is known is replaced by the branch it takes. If
// the condition is not known but only one branch fits the shapes, that branch replaces it. The
// types and shapes that the file declares are used only for values that cannot be inferred.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "assay/graph.h"

namespace assay {

struct InferOptions {
  std::map<std::string, Tensor> input_values = {};  // inputs whose content is known, by name
};

// A node whose outputs have no complete shape, and why.
struct UnresolvedNode {
  NodeId node;
  std::string reason;
};

struct Inferred {
  Graph graph;                // types and shapes filled in, also inside subgraphs
  std::vector<Tensor> known;  // by value: its content, where known without running; else empty
  std::vector<UnresolvedNode> unresolved;
  std::vector<GraphPtr> not_run;  // branches of resolved `If`s that are never taken
  std::vector<std::string> warnings;

  const Tensor* known_value(ValueId id) const {
    return id.is_valid() && known[id.number].has_value() ? &known[id.number] : nullptr;
  }
};

// Throws an Error naming the node where shapes contradict each other.
Inferred infer_shapes(Graph graph, const InferOptions& options = {});

}  // namespace assay
