#if defined(__aarch64__)
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "machine/peaks/peak_kernel.h"
#include "machine/peaks/register_sums.h"

namespace assay::machine {

namespace {

constexpr std::size_t kSums = 24;
constexpr int kLanes = 4;     // sums in fp32
constexpr int kProducts = 4;  // added to each by a product of small matrices
constexpr float kStep = 0x1p-12f;
constexpr double kSumOfRound = kSums * kLanes * kProducts * static_cast<double>(kStep);

[[gnu::noinline]] double run_peak_bf16_neon(std::int64_t rounds) {
  const bfloat16x8_t one = hidden(vdupq_n_bf16(vcvth_bf16_f32(1)));
  const bfloat16x8_t step = hidden(vdupq_n_bf16(vcvth_bf16_f32(kStep)));
  return register_sums<kSums, float>(rounds, vdupq_n_f32(0),
                                     [=](float32x4_t sum) { return vbfmmlaq_f32(sum, one, step); });
}

}  // namespace

const PeakKernel& peak_bf16_neon() {
  static constexpr PeakKernel kKernel = {
      .precision = "bf16",
      .instruction_set = "NEON bf16",
      .operations_a_round = 2 * kSums * kLanes * kProducts,
      .is_supported = [] { return (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0; },
      .run = run_peak_bf16_neon,
      .sum_after = [](std::int64_t rounds) { return static_cast<double>(rounds) * kSumOfRound; }};
  return kKernel;
}

}  // namespace assay::machine
#endif
