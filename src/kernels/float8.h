// The four 8-bit float formats of ONNX, to float and back, rounded to nearest even.
#pragma once

#include <cstdint>

#include "assay/data_type.h"

namespace assay::kernels {

bool is_float8(DataType type);

float float8_to_float(DataType type, std::uint8_t code);
// A number beyond the range becomes the largest if `saturates`, otherwise infinity or, in formats
// without it, NaN.
std::uint8_t float_to_float8(DataType type, float number, bool saturates);

}  // namespace assay::kernels
