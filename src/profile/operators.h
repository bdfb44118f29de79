// The operators of a model as engines run them: layers, each with those computed along with it, and
// the work of all. Derived from the graph alone, without compiling it.
#pragma once

#include <functional>

#include "assay/cost.h"
#include "assay/roofline.h"

namespace assay::profile {

struct FusedOperator {
  std::string name;
  std::vector<std::string> fused = {};
  std::vector<NodeId> nodes = {};  // the main one first
  StepWork work = {};
  bool is_known = true;  // false: its cost is unknown
};

// Whether a layer may be computed along with an operator.
using MayJoin = std::function<bool(const std::string& layer, const std::string& into)>;

bool joins_any_operator(const std::string& layer, const std::string& into);  // always true

// In execution order; what costs nothing is left out. An element-wise layer or a batch norm joins
// the operator that makes its operand, if it may, no other layer reads that operand and the result
// has the same shape: the operand is then neither written nor read.
std::vector<FusedOperator> operators_of(const Inferred& model, const CostSheet& sheet,
                                        const MayJoin& may_join);

}  // namespace assay::profile
