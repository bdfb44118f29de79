// A batch norm at inference is a factor and a shift for each channel.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "assay/graph.h"

namespace assay::transform {

struct ChannelAffine {  // y = scale·x + shift
  std::vector<float> scale;
  std::vector<float> shift;
};

// Nothing if the norm is in training mode or a parameter is not a float32 constant.
std::optional<ChannelAffine> batch_norm_affine(
    const Node& norm, const std::function<const Tensor*(ValueId)>& constant);

}  // namespace assay::transform
