// The precision a step computes in, by the types of its node.
#pragma once

#include <string>

#include "assay/graph.h"

namespace assay::execute {

// "fp32", "fp16", "bf16", "int8", as ceilings are named; other types by their own name.
std::string precision_name(DataType type);

// That of the first floating result or, where there is none, operand; a node of integers has
// theirs.
std::string precision_of(const Graph& graph, const Node& node);

}  // namespace assay::execute
