// Convolution by its definition, over whole tensors of one number type: double for real numbers,
// std::uint64_t for integers, which wrap. Shared by the float, integer and fused ops.
#pragma once

#include "kernels/window_grid.h"

namespace assay::kernels {

struct Convolution {
  WindowGrid grid = {};
  std::int64_t batch = 0;
  std::int64_t groups = 1;
  std::int64_t inputs_per_group = 0;   // channels
  std::int64_t outputs_per_group = 0;  // channels

  std::int64_t output_channels() const { return groups * outputs_per_group; }
  Dims output_dims() const;

  // Calls `visit(input, weight, output)` with where the planes begin, for every plane of the output
  // and every one of the input that goes into it.
  template <typename Visit>
  void for_each_plane(Visit visit) const {
    for (std::int64_t n = 0; n < batch; ++n) {
      for (std::int64_t m = 0; m < output_channels(); ++m) {
        for (std::int64_t c = 0; c < inputs_per_group; ++c) {
          const std::int64_t channel = (n * groups + m / outputs_per_group) * inputs_per_group + c;
          visit(channel * grid.input_elements(), (m * inputs_per_group + c) * grid.taps(),
                (n * output_channels() + m) * grid.output_elements());
        }
      }
    }
  }
};

// Checks that input (N, C, spatial…) and weight (M, C / group, kernel…) fit each other.
Convolution convolution_of(const KernelCall& call, const Dims& input, const Dims& weight);

// input += weight · output, for one plane of each: from every window to the elements it reads.
void spread_plane(const WindowGrid& grid, const double* weights, const double* output,
                  double* input);

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

}  // namespace assay::kernels
