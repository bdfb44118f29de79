// Operator sets 1 to 6 rewritten as operator set 7, so that everything after the reader knows one
// form of each op.
//
// What changed in between: a second operand was broadcast by `broadcast` and `axis` where it now
// has its axes spelled out, shapes and type names were attributes, and a few attributes only told
// the runtimes of the time what memory to reuse.
#pragma once

#include "assay/graph.h"

namespace assay::onnx {

constexpr std::int64_t kOldestOpset = 1;
constexpr std::int64_t kUpgradedOpset = 7;

// The same model in operator set 7; `version` is the one it is written in. Throws an Error naming a
// node whose old form cannot be rewritten.
Graph upgraded_from(std::int64_t version, const Graph& graph);

}  // namespace assay::onnx
