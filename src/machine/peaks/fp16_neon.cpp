#if defined(__aarch64__)
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "machine/peaks/peak_kernel.h"
#include "machine/peaks/register_sums.h"

namespace assay::machine {

namespace {

constexpr std::size_t kSums = 24;
constexpr int kLanes = 8;

[[gnu::noinline]] double run_peak_fp16_neon(std::int64_t rounds) {
  // Sums of fp16 are soon inexact: each round subtracts what it adds.
  const float16x8_t one = hidden(vdupq_n_f16(1));
  const float16x8_t step = hidden(vdupq_n_f16(1));
  return register_sums<kSums, float16_t>(rounds, vdupq_n_f16(1), [=](float16x8_t sum) {
    return vfmsq_f16(vfmaq_f16(sum, one, step), one, step);
  });
}

}  // namespace

const PeakKernel& peak_fp16_neon() {
  static constexpr PeakKernel kKernel = {
      .precision = "fp16",
      .instruction_set = "NEON fp16",
      .operations_a_round = 2 * 2 * kSums * kLanes,
      .is_supported = [] { return (getauxval(AT_HWCAP) & HWCAP_ASIMDHP) != 0; },
      .run = run_peak_fp16_neon,
      .sum_after = [](std::int64_t) -> double { return kSums * kLanes; }};
  return kKernel;
}

}  // namespace assay::machine
#endif
