// The bodies of If, Loop and Scan as graphs that stand alone and are compiled on their own.
#pragma once

#include <optional>

#include "assay/infer.h"
#include "execute/cpu/lowering.h"

namespace assay::cpu {

// Captured constants are the graph's own; other captured values are inputs, after its own ones.
struct StandaloneBody {
  Graph graph;
  std::vector<ValueId> captured = {};  // of the graph around it: one for each such input
};
StandaloneBody standalone_body(const Lowering& lowering, const Graph& body);

// The same graph, but for its inputs and outputs.
Graph with_ends(const Graph& graph, std::span<const ValueId> inputs,
                std::span<const ValueId> outputs);

// Nothing if the body does not fit the shapes at hand.
std::optional<Inferred> inferred_body(Graph body);

// The first step that does not run fast, and why; empty if all do.
std::string slow_step(const std::vector<StepInfo>& steps);
std::int64_t executed_flops(const std::vector<StepInfo>& steps);

}  // namespace assay::cpu
