// Which of the processor's instructions oneDNN may use, and which ones a step uses.
#pragma once

#include <string>

namespace assay::cpu {

// Limits oneDNN to what ASSAY_MAX_ISA allows, and takes instructions from it that would end the
// process: its AMX code asks CPUID leaf 0x1D for the sizes of tiles, which some virtual machines
// leave empty. A lower limit that the user set for oneDNN stays. Has an effect only before oneDNN's
// first use, even before it is asked for its level; later calls do nothing.
void forbid_unsafe_instructions();

std::string library_version();  // "oneDNN 2.6.3"

// Whether oneDNN multiplies 8-bit numbers without overflow in between. Older instructions add pairs
// of products in 16 bits, which may not hold them.
bool has_exact_8_bit_products();
// The same of one of its implementations, by name: it offers those for older processors, too.
bool has_exact_8_bit_products(const std::string& implementation);

// Whether oneDNN has kernels for bfloat16, by instructions of the processor or by widening.
bool has_bfloat16();
// The instruction set that an implementation of oneDNN names ("brgconv:avx512_core_vnni") or, where
// it names none, that it chooses for the precision; for an algorithm of ours, that of our loops.
std::string isa_of(const std::string& algorithm, const std::string& precision);

}  // namespace assay::cpu
