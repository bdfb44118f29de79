// Reverse-mode differentiation: a graph in, a graph out that also computes gradients. So a backward
// pass is counted, planned and run like any other part of a model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "assay/infer.h"

namespace assay {

struct ValueGradient {
  ValueId value;
  ValueId gradient;  // of the value's shape; invalid where the loss does not depend on the value
};

struct Differentiated {
  Graph graph = {};                           // the model's nodes, then those of the backward pass
  std::size_t forward_nodes = 0;              // how many are the model's
  std::vector<NodeId> gradient_of = {};       // by node after those: the model's it belongs to
  std::vector<ValueGradient> gradients = {};  // in the order asked for
};

// The gradients of `loss`, a single number, by each of `by`. The model needs opset 11 or later and
// known shapes. Throws an Error that names every op on the path that has no gradient.
Differentiated differentiate(const Inferred& model, ValueId loss, std::span<const ValueId> by);

// Adds a loss to a model that has none: the sum of the squares of its outputs. Their types must be
// known.
ValueId add_sum_of_squares(Graph& graph);

}  // namespace assay
