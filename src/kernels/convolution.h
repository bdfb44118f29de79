// Convolution by its definition, over whole tensors of one number type: double for real numbers,
// std::uint64_t for integers, which wrap. What belongs to float, integer and fused forms alike.
#pragma once

#include "kernels/window_grid.h"

namespace assay {

struct Convolution {
  WindowGrid grid = {};
  std::int64_t batch = 0;
  std::int64_t groups = 1;
  std::int64_t inputs_per_group = 0;   // channels
  std::int64_t outputs_per_group = 0;  // channels

  std::int64_t output_channels() const { return groups * outputs_per_group; }
  Dims output_dims() const;
};

// Checks that input (N, C, spatial…) and weight (M, C / group, kernel…) fit each other.
Convolution convolution_of(const KernelCall& call, const Tensor& input, const Tensor& weight);

template <typename Number>
std::vector<Number> convolved(const KernelCall& call, const Convolution& convolution,
                              const std::vector<Number>& input, const std::vector<Number>& weight);

// Conv on real numbers with the bias, input 2, where there is one; not yet rounded.
std::vector<double> convolved_with_bias(const KernelCall& call, const Convolution& convolution);

// Adds `bias[channel]` to every element of every plane.
template <typename Number>
void add_to_planes(std::vector<Number>& values, const std::vector<Number>& bias,
                   std::size_t plane) {
  if (plane == 0) return;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] += bias[i / plane % bias.size()];
}

}  // namespace assay
