#include "base/instruction_set.h"

#include <array>
#include <cstdlib>
#include <string>

#include "base/fail.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace assay {

namespace {

constexpr std::array<std::string_view, 6> kLevelNames = {"baseline", "avx2", "avx512",
                                                         "vnni",     "bf16", "amx"};

#if defined(__x86_64__)

struct CpuidLeaf {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

CpuidLeaf cpuid_leaf(unsigned number, unsigned part) {
  CpuidLeaf leaf;
  if (__get_cpuid_count(number, part, &leaf.a, &leaf.b, &leaf.c, &leaf.d) == 0) return {};
  return leaf;
}

constexpr bool has_bit(std::uint64_t bits, unsigned position) {
  return (bits >> position & 1) != 0;
}

// Registers that the system saves when it switches between threads.
std::uint64_t saved_registers() {
  constexpr unsigned kOsxsave = 27;
  if (!has_bit(cpuid_leaf(1, 0).c, kOsxsave)) return 0;
  unsigned low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return std::uint64_t{high} << 32 | low;
}

bool announces_tiles() {
  constexpr unsigned kAmxBf16 = 22, kAmxTile = 24, kAmxInt8 = 25;
  constexpr unsigned kTileConfiguration = 17, kTileData = 18;
  const unsigned features = cpuid_leaf(7, 0).d;
  const std::uint64_t saved = saved_registers();
  return has_bit(features, kAmxTile) && has_bit(features, kAmxInt8) &&
         has_bit(features, kAmxBf16) && has_bit(saved, kTileConfiguration) &&
         has_bit(saved, kTileData);
}

// Linux gives the large tile registers only to processes that ask (arch_prctl). Kernels before 5.16
// do not know the request; they do not save tiles either.
bool gets_permission_for_tiles() {
  constexpr long kRequest = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

bool has_level(InstructionSet level) {
  constexpr unsigned kF16c = 29;
  switch (level) {
    case InstructionSet::Baseline:
      return true;
    case InstructionSet::Avx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             has_bit(cpuid_leaf(1, 0).c, kF16c);
    case InstructionSet::Avx512:
      return has_level(InstructionSet::Avx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512vl");
    case InstructionSet::Avx512Vnni:
      return has_level(InstructionSet::Avx512) && __builtin_cpu_supports("avx512vnni");
    case InstructionSet::Avx512Bf16:
      return has_level(InstructionSet::Avx512Vnni) && __builtin_cpu_supports("avx512bf16");
    case InstructionSet::Amx:
      return has_level(InstructionSet::Avx512Bf16) && announces_tiles();
  }
  return false;
}

bool has_byte_permutations() {
  return __builtin_cpu_supports("avx512vbmi") != 0;
}

bool has_float16_arithmetic() {
  constexpr unsigned kAvx512Fp16 = 23;
  return has_level(InstructionSet::Avx512Vnni) && has_bit(cpuid_leaf(7, 0).d, kAvx512Fp16);
}

#else

bool has_level(InstructionSet level) {
  return level == InstructionSet::Baseline;
}

bool has_byte_permutations() {
  return false;
}

bool has_float16_arithmetic() {
#if defined(__aarch64__)
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDHP) != 0;
#else
  return false;
#endif
}

#endif

bool has_dot_products() {
#if defined(__aarch64__)
  return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
#else
  return false;
#endif
}

bool has_byte_matrix_products() {
#if defined(__aarch64__)
  return (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0;
#else
  return false;
#endif
}

InstructionSet allowed_by_environment() {
  const char* value = std::getenv("ASSAY_MAX_ISA");
  if (value == nullptr || *value == '\0') return InstructionSet::Amx;
  for (std::size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == value) return static_cast<InstructionSet>(i);
  }
  fail_usage("ASSAY_MAX_ISA is '{}': it may be baseline, avx2, avx512, vnni, bf16 or amx", value);
}

}  // namespace

std::string_view name(InstructionSet level) {
  return kLevelNames[static_cast<std::size_t>(level)];
}

InstructionSet highest_allowed_level() {
  static const InstructionSet allowed = allowed_by_environment();
  return allowed;
}

bool processor_has(InstructionSet level) {
  return has_level(level);
}

bool may_use(InstructionSet level) {
  return level <= highest_allowed_level() && processor_has(level);
}

bool may_use_byte_permutations() {
  return may_use(InstructionSet::Avx512) && has_byte_permutations() &&
         highest_allowed_level() >= InstructionSet::Avx512Vnni;
}

bool may_use_float16_arithmetic() {
  return highest_allowed_level() >= InstructionSet::Amx && has_float16_arithmetic();
}

bool may_use_dot_products() {
  return highest_allowed_level() >= InstructionSet::Avx512Vnni && has_dot_products();
}

bool may_use_byte_matrix_products() {
  return highest_allowed_level() >= InstructionSet::Amx && has_byte_matrix_products();
}

bool processor_has_tiles() {
#if defined(__x86_64__)
  static const bool has_them = processor_has(InstructionSet::Amx) && gets_permission_for_tiles();
  return has_them;
#else
  return false;
#endif
}

bool has_tiles() {
  return may_use(InstructionSet::Amx) && processor_has_tiles();
}

bool processor_tells_tile_sizes() {
#if defined(__x86_64__)
  constexpr unsigned kTileLeaf = 0x1D;
  const CpuidLeaf palette = cpuid_leaf(kTileLeaf, 1);
  return (palette.a | palette.b) != 0;
#else
  return false;
#endif
}

}  // namespace assay
