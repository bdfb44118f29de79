// The operators of a model as a stream table lists them: layers, each with those computed along
// with it, and the work of all.
#pragma once

#include <functional>

#include "assay/cost.h"
#include "assay/roofline.h"

namespace assay {

struct StreamOperator {
  std::string name;
  std::vector<std::string> fused = {};
  StepWork work = {};
  bool is_known = true;  // false: nobody taught us what it costs
};

// Whether a layer may be computed along with an operator.
using MayJoin = std::function<bool(const std::string& layer, const std::string& into)>;

// In execution order; what costs nothing is left out. An element-wise layer or a batch norm joins
// the operator that makes its operand, where it may, nobody else reads that operand and the result
// has its shape: the operand is then neither written nor read.
std::vector<StreamOperator> operators_of(const Inferred& model, const CostSheet& sheet,
                                         const MayJoin& may_join);

}  // namespace assay
