// Activation functions that the attributes of RNN, GRU and LSTM name, as expressions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/graph.h"

namespace assay::cuda {

struct ActivationText {
  std::string op;  // a standard op's name, "Affine" or "ScaledTanh"
  float alpha = 0;
  float beta = 0;

  // Of an expression of this type.
  std::string of(const std::string& x, const std::string& type) const;
  // Its derivative there; at a kink, that of one of its sides.
  std::string slope(const std::string& x, const std::string& type) const;
};

// `standard` for each direction, or what the node names; nothing if one is not known.
std::optional<std::vector<ActivationText>> recurrent_activations(
    const Node& node, const std::vector<std::string>& standard);

}  // namespace assay::cuda
