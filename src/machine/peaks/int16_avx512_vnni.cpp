#if defined(__x86_64__)
#include <immintrin.h>

#include "machine/peaks/peak_kernel.h"
#include "machine/peaks/register_sums.h"

namespace assay::machine {

namespace {

constexpr std::size_t kSums = 16;
constexpr int kLanes = 16;    // sums in 32 bits
constexpr int kProducts = 2;  // added to each
constexpr double kSumOfRound = kSums * kLanes * kProducts;

[[gnu::noinline]] double run_peak_int16_avx512_vnni(std::int64_t rounds) {
  const __m512i left = hidden(_mm512_set1_epi16(1));
  const __m512i right = hidden(_mm512_set1_epi16(1));
  return register_sums<kSums, std::int32_t>(rounds, _mm512_setzero_si512(), [=](__m512i sum) {
    return _mm512_dpwssd_epi32(sum, left, right);
  });
}

}  // namespace

const PeakKernel& peak_int16_avx512_vnni() {
  static constexpr PeakKernel kKernel = {
      .precision = "int16",
      .instruction_set = "AVX-512 VNNI",
      .operations_a_round = 2 * kSums * kLanes * kProducts,
      .is_supported = [] { return __builtin_cpu_supports("avx512vnni") != 0; },
      .run = run_peak_int16_avx512_vnni,
      .sum_after = [](std::int64_t rounds) { return static_cast<double>(rounds) * kSumOfRound; }};
  return kKernel;
}

}  // namespace assay::machine
#endif
