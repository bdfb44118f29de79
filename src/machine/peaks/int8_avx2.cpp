#if defined(__x86_64__)
#include <immintrin.h>

#include "machine/peaks/peak_kernel.h"
#include "machine/peaks/register_sums.h"

namespace assay::machine {

namespace {

constexpr std::size_t kSums = 8;
constexpr int kLanes = 8;     // sums in 32 bits
constexpr int kProducts = 4;  // added to each
constexpr double kSumOfRound = kSums * kLanes * kProducts;

[[gnu::noinline]] double run_peak_int8_avx2(std::int64_t rounds) {
  const __m256i left = hidden(_mm256_set1_epi8(1));
  const __m256i right = hidden(_mm256_set1_epi8(1));
  const __m256i ones = hidden(_mm256_set1_epi16(1));
  return register_sums<kSums, std::int32_t>(rounds, _mm256_setzero_si256(), [=](__m256i sum) {
    const __m256i pairs = hidden(_mm256_maddubs_epi16(hidden(left), right));
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
  });
}

}  // namespace

const PeakKernel& peak_int8_avx2() {
  static constexpr PeakKernel kKernel = {
      .precision = "int8",
      .instruction_set = "AVX2",
      .operations_a_round = 2 * kSums * kLanes * kProducts,
      .is_supported = [] { return __builtin_cpu_supports("avx2") != 0; },
      .run = run_peak_int8_avx2,
      .sum_after = [](std::int64_t rounds) { return static_cast<double>(rounds) * kSumOfRound; }};
  return kKernel;
}

}  // namespace assay::machine
#endif
