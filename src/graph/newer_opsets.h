// Standard operator sets after the newest that is known in full: what they changed and added, from
// the schemas of the onnx package 1.23. Most operators only accept more types there, so a model of
// such a set is read unless it uses what changed.
#pragma once

#include <optional>
#include <string>

#include "assay/graph.h"

namespace assay::graph {

inline constexpr std::int64_t kNewestOpset = 21;          // known in full
inline constexpr std::int64_t kNewestReadableOpset = 28;  // known by what changed

// "attribute 'precision', new in operator set 23", if the node is of a form that older sets lack.
std::optional<std::string> newer_form(const Node& node);

// "it uses operator set 23; …", for a graph of such a set. Names the operators that older sets
// lack.
std::optional<std::string> newer_opset_warning(const Graph& graph);

}  // namespace assay::graph
