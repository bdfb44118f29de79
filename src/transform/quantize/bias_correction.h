// Rounded weights shift the mean of a layer's results. With the means of its inputs known, so is
// the shift: the sum over inputs of (weight - rounded weight) × mean. The bias takes it up.
#pragma once

#include <span>
#include <vector>

#include "assay/graph.h"

namespace assay::transform {

// The axis along which a layer's input channels lie in its first operand.
std::size_t input_channel_axis(const Node& layer, std::size_t rank);

// What to add to the bias of a Conv or Gemm, one number for each output channel. Positions that a
// convolution pads are taken to have the mean as well.
std::vector<double> bias_correction(const Graph& graph, const Node& layer,
                                    std::span<const double> input_means, bool per_channel);

}  // namespace assay::transform
