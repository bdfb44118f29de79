// Removes channels from a graph: stored tensors lose positions, and nodes that name lengths get the
// new ones.
#pragma once

#include <vector>

#include "assay/infer.h"

namespace assay::transform {

// The positions of an axis that stay.
struct KeptAxis {
  std::size_t axis = 0;
  std::vector<std::int64_t> positions;
};
// By value: the axes that lose positions.
using KeptAxes = std::vector<std::vector<KeptAxis>>;

// `inferred` has the values and nodes of `model`, with the shapes for which `kept` holds; shapes of
// `model` may be open. Values keep their ids, nodes their order.
Graph cut_channels(const Graph& model, const Inferred& inferred, const KeptAxes& kept);

}  // namespace assay::transform
