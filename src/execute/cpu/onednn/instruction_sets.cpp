#include "execute/cpu/onednn/instruction_sets.h"

#include <oneapi/dnnl/dnnl.hpp>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace assay::cpu {

namespace {

bool tells_tile_sizes() {
#if defined(__x86_64__)
  constexpr unsigned kTileLeaf = 0x1D;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(kTileLeaf, 1, &a, &b, &c, &d) != 0 && (a | b) != 0;
#else
  return false;
#endif
}

}  // namespace

void forbid_unsafe_instructions() {
  using dnnl::cpu_isa;
  const bool has_tiles = dnnl::get_effective_cpu_isa() == cpu_isa::avx512_core_amx;
  if (has_tiles && !tells_tile_sizes()) dnnl::set_max_cpu_isa(cpu_isa::avx512_core_bf16);
}

bool has_exact_8_bit_products() {
  using dnnl::cpu_isa;
  switch (dnnl::get_effective_cpu_isa()) {
    case cpu_isa::avx512_core_vnni:
    case cpu_isa::avx512_core_bf16:
    case cpu_isa::avx512_core_amx:
    case cpu_isa::avx2_vnni:
      return true;
    default:
      return false;
  }
}

bool has_exact_8_bit_products(const std::string& implementation) {
  return !implementation.ends_with(":avx2") && !implementation.ends_with(":sse41") &&
         !implementation.ends_with(":avx") && !implementation.ends_with(":avx512_core");
}

bool has_bfloat16() {
  using dnnl::cpu_isa;
  switch (dnnl::get_effective_cpu_isa()) {
    case cpu_isa::avx512_core:
    case cpu_isa::avx512_core_vnni:
    case cpu_isa::avx512_core_bf16:
    case cpu_isa::avx512_core_amx:
      return true;
    default:
      return false;
  }
}

}  // namespace assay::cpu
