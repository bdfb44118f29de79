#if defined(__x86_64__)
#include <immintrin.h>

#include "machine/peaks/peak_kernel.h"
#include "machine/peaks/register_sums.h"

namespace assay::machine {

namespace {

constexpr std::size_t kSums = 12;  // as many as leave registers for the factors
constexpr int kLanes = 8;
constexpr float kStep = 0x1p-10f;
constexpr double kSumOfRound = kSums * kLanes * static_cast<double>(kStep);

[[gnu::noinline]] double run_peak_fp32_avx2(std::int64_t rounds) {
  const __m256 one = hidden(_mm256_set1_ps(1));
  const __m256 step = hidden(_mm256_set1_ps(kStep));
  return register_sums<kSums, float>(rounds, _mm256_setzero_ps(),
                                     [=](__m256 sum) { return _mm256_fmadd_ps(one, step, sum); });
}

}  // namespace

const PeakKernel& peak_fp32_avx2() {
  static constexpr PeakKernel kKernel = {
      .precision = "fp32",
      .instruction_set = "AVX2 FMA",
      .operations_a_round = 2 * kSums * kLanes,
      .is_supported =
          [] { return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0; },
      .run = run_peak_fp32_avx2,
      .sum_after = [](std::int64_t rounds) { return static_cast<double>(rounds) * kSumOfRound; }};
  return kKernel;
}

}  // namespace assay::machine
#endif
