// Which layers are attention's own: the products of activations and the softmax between them, not
// the projections before and after.
#pragma once

#include <set>
#include <string>

#include "assay/count.h"

namespace assay::profile {

std::set<std::string> attention_layers(const Graph& model);  // their display names

// Attention's share of all MACs.
std::optional<double> attention_share(const CostSheet& sheet, const std::set<std::string>& layers);

}  // namespace assay::profile
