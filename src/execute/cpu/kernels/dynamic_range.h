// Dynamic quantisation: the range of floats at run time, and the scale and zero point of unsigned
// 8-bit numbers that follow from it.
#pragma once

#include <cstdint>

#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

ValueRange range_of(const float* values, std::int64_t count, int threads);

Scale8 scale_for(const ValueRange& range);

}  // namespace assay::cpu
