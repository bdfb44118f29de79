#include "execute/cpu/simd/byte_table.h"

#include "base/instruction_set.h"

namespace assay::cpu {

namespace {

bool permutes_bytes() {
  static const bool does = may_use_byte_permutations();
  return does;
}

}  // namespace

void look_up(const std::uint8_t* table, const std::uint8_t* in, std::uint8_t* out, std::size_t n) {
  std::size_t i = permutes_bytes() ? look_up_by_permutation(table, in, out, n) : 0;
  for (; i < n; ++i) out[i] = table[in[i]];
}

}  // namespace assay::cpu
