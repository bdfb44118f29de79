// Conversion of real numbers to integers of any width, shared by quantised ops.
#pragma once

#include "kernels/kernel.h"
#include "kernels/shape_math.h"

namespace assay::kernels {

// The numbers as `type`, those beyond its range replaced by the nearest. They must be whole: round
// before you add a zero point.
Tensor store_saturated(const KernelCall& call, DataType type, Dims dims,
                       const std::vector<double>& numbers);

}  // namespace assay::kernels
