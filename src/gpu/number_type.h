// What NVIDIA's libraries store and compute numbers in.
#pragma once

namespace assay::gpu {

// Float8 has 4 bits of exponent and 3 of mantissa (E4M3); its products give BFloat16.
enum class NumberType { Float32, Float64, Float16, BFloat16, Float8, Int8 };

// How far a library may go with float32: real float32, or products of numbers that are rounded to
// the 11 significant bits of tf32. Other types are not affected.
enum class Float32Math { Real, Tf32 };

}  // namespace assay::gpu
