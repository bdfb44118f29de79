// Which instructions this process may use: what the processor has and the system allows, limited by
// the environment variable ASSAY_MAX_ISA. Kernels ask here before they run anything that not every
// processor of the architecture has.
#pragma once

#include <cstdint>
#include <string_view>

namespace assay {

// Each level includes those before it.
enum class InstructionSet : std::uint8_t {
  Baseline,    // SSE2; on other architectures whatever they always have
  Avx2,        // with FMA and F16C
  Avx512,      // F, DQ, BW, VL: Skylake-X
  Avx512Vnni,  // Cascade Lake
  Avx512Bf16,  // Cooper Lake, Zen 4
  Amx,         // tiles of int8 and bf16: Sapphire Rapids
};
// As ASSAY_MAX_ISA spells them: "baseline", "avx2", "avx512", "vnni", "bf16", "amx".
std::string_view name(InstructionSet level);

// The highest level that ASSAY_MAX_ISA allows; `Amx` where it is not set. Throws an Error if it
// names none.
InstructionSet highest_allowed_level();

// Processor and system alone.
bool processor_has(InstructionSet level);
// And allowed.
bool may_use(InstructionSet level);
// AVX-512 with byte permutations (VBMI), as Ice Lake and Zen 4 have them; ASSAY_MAX_ISA has to
// allow VNNI.
bool may_use_byte_permutations();

// Arithmetic on float16 numbers (AVX512-FP16, FEAT_FP16 of AArch64), as Sapphire Rapids and
// Cortex-A76 have it; ASSAY_MAX_ISA has to allow AMX.
bool may_use_float16_arithmetic();

// AArch64's dot products of 8-bit numbers (FEAT_DotProd), as Cortex-A76 has them; ASSAY_MAX_ISA has
// to allow VNNI.
bool may_use_dot_products();

// AArch64's matrix products of 8-bit numbers (FEAT_I8MM), as Neoverse V1 has them; ASSAY_MAX_ISA
// has to allow AMX.
bool may_use_byte_matrix_products();

// Whether tile instructions work in every thread of this process. The first call asks the system
// for the permission that they need; a thread loads its own tile configuration.
bool processor_has_tiles();
bool has_tiles();  // and allowed

// CPUID leaf 0x1D, which some virtual machines leave empty although they announce tiles.
bool processor_tells_tile_sizes();

}  // namespace assay
