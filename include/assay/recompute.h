// Less memory for more time: forward values that a backward pass reads are computed a second time,
// just before it needs them, instead of being kept from the forward pass on.
//
// The forward pass is cut into consecutive pieces. What crosses a cut is kept, and so is the last
// piece, which the backward pass begins with; of the others, what it reads is repeated. A repeated
// node gives the very same result: ops that draw random numbers are never repeated, except assay's
// Dropout, whose random numbers depend only on seed, step and position.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "assay/graph.h"

namespace assay {

struct Recomputed {
  // Values have the numbers they had; those of repeated nodes come after them.
  Graph graph = {};
  std::vector<NodeId> origin_of = {};  // by node: the node of the given graph it is or repeats
  std::vector<bool> repeats = {};      // by node: whether it computes something a second time

  std::size_t repeat_count() const;
};

// `graph` begins with `forward_nodes` nodes whose shapes are known, and goes on with the backward
// pass and whatever follows it. One piece changes nothing.
Recomputed recompute(const Graph& graph, std::size_t forward_nodes, std::size_t pieces);

// The graph with the fewest repeated nodes that needs at most `budget` bytes according to
// `bytes_of`, which returns the bytes of a graph's memory plan. Tries one piece, two, three and so
// on in growing strides. If none fits, throws an Error that states the smallest size that was
// reached.
Recomputed fit_to_budget(const Graph& graph, std::size_t forward_nodes, std::int64_t budget,
                         const std::function<std::int64_t(const Graph&)>& bytes_of);

}  // namespace assay
