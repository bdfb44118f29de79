// How floats become unsigned 8-bit numbers when they are quantised as they arrive.
#pragma once

#include <cstdint>

#include "execute/cpu/simd/simd.h"

namespace assay::cpu {

ValueRange range_of(const float* values, std::int64_t count, int threads);

Scale8 scale_for(const ValueRange& range);

}  // namespace assay::cpu
