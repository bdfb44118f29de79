// Element-wise ops as expressions of C++.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/graph.h"

namespace assay::cuda {

// What an op computes: from expressions of its inputs (empty: left out) in the type `type`, which
// it computes in.
struct Operation {
  std::string expression;
  int flops = 1;  // per element
};
std::optional<Operation> operation_of(const Node& node, const std::vector<std::string>& inputs,
                                      const std::string& type);

// An op's name in tables: "Relu", "assay.ReluGradient".
std::string table_name(const Node& node);

// Whether there is an expression for nodes of this op, in some form.
bool has_expression(const Node& node);
std::vector<std::string> ops_with_expressions();  // by these names

}  // namespace assay::cuda
