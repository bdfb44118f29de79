// Normalisation of lanes by their own statistics, as LayerNormalization and its fused forms do.
#pragma once

#include "kernels/kernel.h"
#include "kernels/lanes.h"

namespace assay::kernels {

struct LaneStatistics {
  std::vector<double> mean = {};  // one a lane
  std::vector<double> inverse_deviation = {};
};

// Subtracts the mean, unless `keeps_mean`, and divides by the root of the variance (then: of the
// mean square) plus `epsilon`.
LaneStatistics normalize_lanes(std::vector<double>& values, const Lanes& lanes, double epsilon,
                               bool keeps_mean = false);

// Multiplies every lane by input `scale` and adds input `bias`, where it is given; both are
// broadcast to `dims`.
void scale_and_shift(const KernelCall& call, std::vector<double>& values, const Dims& dims,
                     std::size_t scale, std::size_t bias);

std::vector<Tensor> layer_normalization(const KernelCall& call);
std::vector<Tensor> simplified_layer_normalization(const KernelCall& call);  // keeps the mean

}  // namespace assay::kernels
