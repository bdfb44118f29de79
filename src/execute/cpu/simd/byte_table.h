// A function of one 8-bit number, as a table.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::cpu {

// out[i] = table[in[i]], 256 entries; signed numbers index by their bytes.
void look_up(const std::uint8_t* table, const std::uint8_t* in, std::uint8_t* out, std::size_t n);

// As far as whole vectors go, with AVX-512 VBMI; returns how many were done.
std::size_t look_up_by_permutation(const std::uint8_t* table, const std::uint8_t* in,
                                   std::uint8_t* out, std::size_t n);

}  // namespace assay::cpu
