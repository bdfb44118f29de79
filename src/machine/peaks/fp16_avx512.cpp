#if defined(__x86_64__)
#include <immintrin.h>

#include "machine/peaks/peak_kernel.h"
#include "machine/peaks/register_sums.h"

namespace assay::machine {

namespace {

constexpr std::size_t kSums = 16;
constexpr int kLanes = 32;

[[gnu::noinline]] double run_peak_fp16_avx512(std::int64_t rounds) {
  // Sums of fp16 are soon inexact: each round adds what the next subtracts.
  const __m512h one = hidden(_mm512_set1_ph(1));
  __m512h step = hidden(_mm512_set1_ph(1));
  return register_sums<kSums, _Float16>(
      rounds, _mm512_setzero_ph(), [=](__m512h sum) { return _mm512_fnmadd_ph(sum, one, step); });
}

}  // namespace

const PeakKernel& peak_fp16_avx512() {
  static constexpr PeakKernel kKernel = {
      .precision = "fp16",
      .instruction_set = "AVX-512 FP16",
      .operations_a_round = 2 * kSums * kLanes,
      .is_supported = [] { return __builtin_cpu_supports("avx512fp16") != 0; },
      .run = run_peak_fp16_avx512,
      .sum_after = [](std::int64_t rounds) -> double {
        return static_cast<double>(rounds % 2) * kSums * kLanes;
      }};
  return kKernel;
}

}  // namespace assay::machine
#endif
