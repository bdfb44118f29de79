// Conversion between real numbers and integers of any width, shared by quantised ops.
#pragma once

#include "kernels/kernel.h"
#include "kernels/shape_math.h"

namespace assay::kernels {

// The numbers as `type`, those beyond its range replaced by the nearest. They must be whole: round
// before you add a zero point.
Tensor store_saturated(const KernelCall& call, DataType type, Dims dims,
                       const std::vector<double>& numbers);

// A scale or zero point that there is one of.
double one_number(const KernelCall& call, std::size_t input);

// Input `input` as double, by the scale and the optional zero point that follow it.
Tensor dequantized_input(const KernelCall& call, std::size_t input);

// Real numbers by the scale at `scale_input` and the optional zero point after it, which has the
// result's type; `type` where it is left out.
Tensor quantized_result(const KernelCall& call, DataType type, const Tensor& result,
                        std::size_t scale_input);

// 1 / scale without its fraction, at least 1.
float whole_reciprocal(float scale);

// How numbers become uint8 when they are quantised as they arrive. The range always holds 0, so
// that zero is represented exactly.
struct DynamicRange {
  double scale = 1;
  double zero_point = 0;

  double quantized(double value) const;
  double rounded(double value) const;  // quantised and back
};
DynamicRange dynamic_range(std::span<const double> values);

}  // namespace assay::kernels
