// The operators of a simplified model with what a prediction needs to know of each: its kind, the
// fewest operations it can be done with, and the nodes it computes in the model as given.
#pragma once

#include <string>
#include <vector>

#include "assay/roofline.h"
#include "profile/prepared.h"

namespace assay::profile {

struct ClassifiedOperator {
  std::string name;                // its main node's
  std::string op_class;            // "conv 3x3", "depthwise", "product", "softmax", …
  StepWork work = {};              // `flops` without padded positions, as if done one by one
  double fewest_flops = 0;         // that any algorithm we know of needs
  std::vector<NodeId> nodes = {};  // of the model as given
};

// `width_factor` scales all byte counts: the bits of a stored value / 32.
std::vector<ClassifiedOperator> classified_operators(Inferred model, double width_factor = 1.0);

}  // namespace assay::profile
