#if defined(__x86_64__)
#include <immintrin.h>

#include "machine/peaks/peak_kernel.h"
#include "machine/peaks/register_sums.h"

namespace assay::machine {

namespace {

constexpr std::size_t kSums = 16;  // more than two units times four cycles of latency
constexpr int kLanes = 16;
constexpr float kStep = 0x1p-10f;
constexpr double kSumOfRound = kSums * kLanes * static_cast<double>(kStep);

[[gnu::noinline]] double run_peak_fp32_avx512(std::int64_t rounds) {
  const __m512 one = hidden(_mm512_set1_ps(1));
  const __m512 step = hidden(_mm512_set1_ps(kStep));
  return register_sums<kSums, float>(rounds, _mm512_setzero_ps(),
                                     [=](__m512 sum) { return _mm512_fmadd_ps(one, step, sum); });
}

}  // namespace

const PeakKernel& peak_fp32_avx512() {
  static constexpr PeakKernel kKernel = {
      .precision = "fp32",
      .instruction_set = "AVX-512",
      .operations_a_round = 2 * kSums * kLanes,
      .is_supported = [] { return __builtin_cpu_supports("avx512f") != 0; },
      .run = run_peak_fp32_avx512,
      .sum_after = [](std::int64_t rounds) { return static_cast<double>(rounds) * kSumOfRound; }};
  return kKernel;
}

}  // namespace assay::machine
#endif
