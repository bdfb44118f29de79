// The statistics of a row, in the texts of kernels.
#pragma once

#include <string>

#include "execute/cuda/row_kernel.h"

namespace assay::cuda {

// Statements that declare `mean`, `variance` and `scaled_by`, which is 1 / deviation, of a row of
// `value`, all of type float or double.
std::string moments_text(const Rows& rows, const std::string& type, const std::string& value,
                         float epsilon);

// Of an element that is normalised by them.
constexpr std::int64_t kNormFlops = 7;

}  // namespace assay::cuda
