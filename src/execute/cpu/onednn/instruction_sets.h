// Which of the processor's instructions oneDNN may use.
#pragma once

#include <string>

namespace assay::cpu {

// Takes instructions from oneDNN that would end the process: its AMX code asks CPUID leaf 0x1D for
// the sizes of tiles, which some virtual machines leave empty. Before oneDNN's first use.
void forbid_unsafe_instructions();

// Whether oneDNN multiplies 8-bit numbers without overflow in between. Older instructions add pairs
// of products in 16 bits, which may not hold them.
bool has_exact_8_bit_products();
// The same of one of its implementations, by name: it offers those for older processors, too.
bool has_exact_8_bit_products(const std::string& implementation);

// Whether oneDNN has kernels for bfloat16, by instructions of the processor or by widening.
bool has_bfloat16();

}  // namespace assay::cpu
