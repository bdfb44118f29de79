#include "execute/cpu/simd/byte_table.h"

namespace assay::cpu {

namespace {

bool permutes_bytes() {
#if defined(__x86_64__)
  static const bool does =
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi");
  return does;
#else
  return false;
#endif
}

}  // namespace

void look_up(const std::uint8_t* table, const std::uint8_t* in, std::uint8_t* out, std::size_t n) {
  std::size_t i = permutes_bytes() ? look_up_by_permutation(table, in, out, n) : 0;
  for (; i < n; ++i) out[i] = table[in[i]];
}

}  // namespace assay::cpu
