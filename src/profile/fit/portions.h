// The operators of a simplified model with what a prediction needs to know of each: its kind, the
// fewest operations it can be done with, and the nodes of the model as given that it stands for.
#pragma once

#include <string>
#include <vector>

#include "assay/roofline.h"
#include "profile/prepared.h"

namespace assay::profile {

struct Portion {
  std::string name;                // its main node's
  std::string op_class;            // "conv 3x3", "depthwise", "product", "softmax", …
  StepWork work = {};              // `flops` without padded positions, as if done one by one
  double fewest_flops = 0;         // that any algorithm we know of needs
  std::vector<NodeId> nodes = {};  // of the model as given
};

// `width` is what a stored or computed number takes in bytes, for one of 4.
std::vector<Portion> portions_of(Inferred model, double width_factor = 1.0);

}  // namespace assay::profile
