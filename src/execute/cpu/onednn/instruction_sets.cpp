#include "execute/cpu/onednn/instruction_sets.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>

#include "base/instruction_set.h"
#include "execute/cpu/simd/simd.h"
#include "execute/cpu/simd/tiles/tile_product.h"

namespace assay::cpu {

namespace {

using dnnl::cpu_isa;

// oneDNN's levels are sets of bits: what two of them have in common is a level that both allow.
using IsaBits = unsigned;
constexpr IsaBits kEverything = ~0u;
constexpr IsaBits kTileBits = static_cast<IsaBits>(cpu_isa::avx512_core_amx) &
                              ~static_cast<IsaBits>(cpu_isa::avx512_core_bf16);

constexpr IsaBits bits_of(cpu_isa isa) {
  return static_cast<IsaBits>(isa);
}

IsaBits allowed_by_level(InstructionSet level) {
  switch (level) {
    case InstructionSet::Baseline:
      return bits_of(cpu_isa::sse41);
    case InstructionSet::Avx2:
      return bits_of(cpu_isa::avx2);
    case InstructionSet::Avx512:
      return bits_of(cpu_isa::avx512_core);
    case InstructionSet::Avx512Vnni:
      return bits_of(cpu_isa::avx512_core_vnni);
    case InstructionSet::Avx512Bf16:
      return bits_of(cpu_isa::avx512_core_bf16);
    case InstructionSet::Amx:
      return kEverything;
  }
  return kEverything;
}

bool is_same_word(std::string_view word, std::string_view upper) {
  return std::ranges::equal(word, upper, [](char a, char b) {
    return std::toupper(static_cast<unsigned char>(a)) == static_cast<unsigned char>(b);
  });
}

// What oneDNN itself would read. A name that it does not know allows everything.
IsaBits allowed_by_user() {
  constexpr std::pair<std::string_view, cpu_isa> kNames[] = {
      {"SSE41", cpu_isa::sse41},
      {"AVX", cpu_isa::avx},
      {"AVX2", cpu_isa::avx2},
      {"AVX2_VNNI", cpu_isa::avx2_vnni},
      {"AVX512_CORE", cpu_isa::avx512_core},
      {"AVX512_CORE_VNNI", cpu_isa::avx512_core_vnni},
      {"AVX512_CORE_BF16", cpu_isa::avx512_core_bf16},
      {"AVX512_CORE_AMX", cpu_isa::avx512_core_amx}};
  const char* value = std::getenv("ONEDNN_MAX_CPU_ISA");
  if (value == nullptr) value = std::getenv("DNNL_MAX_CPU_ISA");
  if (value == nullptr) return kEverything;
  for (const auto& [name, isa] : kNames) {
    if (is_same_word(value, name)) return bits_of(isa);
  }
  return kEverything;
}

// Asking oneDNN for its level would fix it: everything is decided beforehand.
void limit_instructions() {
  const IsaBits user = allowed_by_user();
  IsaBits allowed = user & allowed_by_level(highest_allowed_level());
  const bool are_tiles_unsafe = processor_has(InstructionSet::Amx) && !processor_tells_tile_sizes();
  if (are_tiles_unsafe && (allowed & kTileBits) != 0) allowed &= bits_of(cpu_isa::avx512_core_bf16);
  if (allowed != user) dnnl::set_max_cpu_isa(static_cast<cpu_isa>(allowed));
}

cpu_isa effective_isa() {
  forbid_unsafe_instructions();
  return dnnl::get_effective_cpu_isa();
}

}  // namespace

std::string library_version() {
  const dnnl::version_t* version = dnnl::version();
  return fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch);
}

void forbid_unsafe_instructions() {
  static std::once_flag once;
  std::call_once(once, limit_instructions);
}

bool has_exact_8_bit_products() {
  // Kernels of our own, where oneDNN has none.
  if (may_use_dot_products()) return true;
  switch (effective_isa()) {
    case cpu_isa::avx512_core_vnni:
    case cpu_isa::avx512_core_bf16:
    case cpu_isa::avx512_core_amx:
    case cpu_isa::avx2_vnni:
      return true;
    default:
      return false;
  }
}

namespace {

// As StepInfo names levels of oneDNN; what is named first is looked for first. VNNI also stands for
// 8-bit products of levels above it.
constexpr std::pair<std::string_view, std::string_view> kIsaNames[] = {
    {"amx", "amx"},
    {"avx512_fp16", "avx512_fp16"},
    {"avx512_core_bf16", "avx512_bf16"},
    {"avx512_core_vnni", "avx512_vnni"},
    {"avx512_vnni", "avx512_vnni"},
    {"avx512_bf16", "avx512_bf16"},
    {"avx512", "avx512"},
    {"avx2_vnni", "avx2_vnni"},
    {"avx2", "avx2"},
    {"avx", "avx"},
    {"sse41", "sse41"},
    {"neon_dot", "neon_dot"},
    {"neon_fp16", "neon_fp16"}};

std::string chosen_isa(const std::string& precision) {
  switch (effective_isa()) {
    case cpu_isa::avx512_core_amx:
    case cpu_isa::avx512_core_bf16:
      if (precision == "bf16") return "avx512_bf16";
      [[fallthrough]];
    case cpu_isa::avx512_core_vnni:
      if (precision == "int8") return "avx512_vnni";
      [[fallthrough]];
    case cpu_isa::avx512_core:
      return "avx512";
    case cpu_isa::avx2_vnni:
      if (precision == "int8") return "avx2_vnni";
      [[fallthrough]];
    case cpu_isa::avx2:
      return "avx2";
    default:
      return std::string(simd().name);
  }
}

}  // namespace

std::string isa_of(const std::string& algorithm, const std::string& precision) {
  if (algorithm.starts_with("tiles")) return may_use_dot_products() ? tiles()->name : "amx";
  for (const auto& [level, isa] : kIsaNames) {
    if (algorithm.find(level) == std::string::npos) continue;
    const bool is_8_bit_level = isa == "avx512_bf16" && precision == "int8";
    return std::string(is_8_bit_level ? "avx512_vnni" : isa);
  }
  if (algorithm.find(':') != std::string::npos) return chosen_isa(precision);
  return simd().name;
}

bool has_exact_8_bit_products(const std::string& implementation) {
  return !implementation.ends_with(":avx2") && !implementation.ends_with(":sse41") &&
         !implementation.ends_with(":avx") && !implementation.ends_with(":avx512_core");
}

bool has_bfloat16() {
  switch (effective_isa()) {
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
