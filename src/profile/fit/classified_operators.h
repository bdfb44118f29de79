// The operators of a simplified model with what a prediction needs to know of each: its kind, the
// fewest operations it can be done with, and the nodes it computes in the model as given.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/roofline.h"
#include "profile/operators.h"
#include "profile/prepared.h"

namespace assay::profile {

struct ClassifiedOperator {
  std::string name;                     // its main node's
  std::vector<std::string> fused = {};  // the other nodes', as given
  std::string op_class;                 // "conv 3x3", "depthwise", "product", "softmax", …
  StepWork work = {};                   // `flops` without padded positions, as if done one by one
  double fewest_flops = 0;              // that any algorithm we know of needs
  std::vector<NodeId> nodes = {};       // of the model as given
  bool is_movement = false;  // bytes moved and nothing computed: engines copy, or do without
  bool is_known = true;      // false: its cost is unknown
};

struct ClassifyOptions {
  double width_factor = 1.0;               // scales all byte counts: the bits of a value / 32
  std::optional<DataType> stored_as = {};  // counts floats as if they were of this type
  bool as_given = false;                   // without simplifying the model first
  MayJoin may_join = joins_any_operator;
};

std::vector<ClassifiedOperator> classified_operators(Inferred model,
                                                     const ClassifyOptions& options = {});

}  // namespace assay::profile
