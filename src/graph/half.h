// Conversions between float and the 16-bit float formats, round to nearest even.
#pragma once

#include <cstdint>

namespace assay::graph {

float half_to_float(std::uint16_t half);
std::uint16_t float_to_half(float number);
float bfloat16_to_float(std::uint16_t number);
std::uint16_t float_to_bfloat16(float number);

}  // namespace assay::graph
