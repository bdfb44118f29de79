#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

#include "machine/peaks/peak_kernel.h"
#include "machine/peaks/register_sums.h"

namespace assay::machine {

namespace {

constexpr std::size_t kSums = 12;
constexpr int kLanes = 8;     // sums in 32 bits
constexpr int kProducts = 4;  // added to each

bool has_avx_vnni() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kAvxVnni = 1u << 4;
  const bool told = __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0;
  return told && (a & kAvxVnni) != 0 && __builtin_cpu_supports("avx2") != 0;
}
constexpr double kSumOfRound = kSums * kLanes * kProducts;

[[gnu::noinline]] double run_peak_int8_avx_vnni(std::int64_t rounds) {
  const __m256i left = hidden(_mm256_set1_epi8(1));
  const __m256i right = hidden(_mm256_set1_epi8(1));
  return register_sums<kSums, std::int32_t>(rounds, _mm256_setzero_si256(), [=](__m256i sum) {
    return _mm256_dpbusd_avx_epi32(sum, left, right);
  });
}

}  // namespace

const PeakKernel& peak_int8_avx_vnni() {
  static constexpr PeakKernel kKernel = {
      .precision = "int8",
      .instruction_set = "AVX-VNNI",
      .operations_a_round = 2 * kSums * kLanes * kProducts,
      .is_supported = has_avx_vnni,
      .run = run_peak_int8_avx_vnni,
      .sum_after = [](std::int64_t rounds) { return static_cast<double>(rounds) * kSumOfRound; }};
  return kKernel;
}

}  // namespace assay::machine
#endif
