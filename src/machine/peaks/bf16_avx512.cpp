#if defined(__x86_64__)
#include <immintrin.h>

#include "machine/peaks/peak_kernel.h"
#include "machine/peaks/register_sums.h"

namespace assay::machine {

namespace {

constexpr std::size_t kSums = 16;
constexpr int kLanes = 16;    // sums in fp32
constexpr int kProducts = 2;  // added to each
constexpr float kStep = 0x1p-11f;
constexpr double kSumOfRound = kSums * kLanes * kProducts * static_cast<double>(kStep);

[[gnu::noinline]] double run_peak_bf16_avx512(std::int64_t rounds) {
  const __m512bh one = _mm512_cvtne2ps_pbh(hidden(_mm512_set1_ps(1)), hidden(_mm512_set1_ps(1)));
  const __m512 steps = hidden(_mm512_set1_ps(kStep));
  const __m512bh step = _mm512_cvtne2ps_pbh(steps, steps);
  return register_sums<kSums, float>(rounds, _mm512_setzero_ps(),
                                     [=](__m512 sum) { return _mm512_dpbf16_ps(sum, one, step); });
}

}  // namespace

const PeakKernel& peak_bf16_avx512() {
  static constexpr PeakKernel kKernel = {
      .precision = "bf16",
      .instruction_set = "AVX-512 BF16",
      .operations_a_round = 2 * kSums * kLanes * kProducts,
      .is_supported = [] { return __builtin_cpu_supports("avx512bf16") != 0; },
      .run = run_peak_bf16_avx512,
      .sum_after = [](std::int64_t rounds) { return static_cast<double>(rounds) * kSumOfRound; }};
  return kKernel;
}

}  // namespace assay::machine
#endif
