// Gradient accumulation: a forward and a backward pass for each part of a batch, their gradients
// summed.
#pragma once

#include "assay/differentiate.h"
#include "transform/training/parts.h"

namespace assay::transform {

// A differentiated model for one part of a batch, and what belongs to its nodes.
struct PartOfBatch {
  Graph graph = {};
  std::vector<Phase> phases = {};   // by node
  std::vector<NodeId> layers = {};  // by node
  std::vector<ValueGradient> gradients = {};
  std::vector<ValueId> samples = {};  // inputs that hold one row for each sample
  std::vector<ValueId> outputs = {};  // likewise
  ValueId loss;
  std::vector<Carried> statistics = {};
};

// The same for `parts` of them, one after the other: samples and outputs hold all parts, the loss
// is their mean (or their sum), and statistics go from part to part.
PartOfBatch accumulated(const PartOfBatch& part, std::int64_t parts, bool is_mean);

}  // namespace assay::transform
