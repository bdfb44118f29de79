#if defined(__aarch64__)
#include <arm_neon.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>

#include "machine/peaks/peak_kernel.h"
#include "machine/peaks/register_sums.h"

namespace assay::machine {

namespace {

constexpr std::size_t kSums = 24;
constexpr int kLanes = 4;     // sums in 32 bits
constexpr int kProducts = 8;  // added to each
constexpr double kSumOfRound = kSums * kLanes * kProducts;

[[gnu::noinline]] double run_peak_int8_neon_i8mm(std::int64_t rounds) {
  const int8x16_t left = hidden(vdupq_n_s8(1));
  const int8x16_t right = hidden(vdupq_n_s8(1));
  return register_sums<kSums, std::int32_t>(
      rounds, vdupq_n_s32(0), [=](int32x4_t sum) { return vmmlaq_s32(sum, left, right); });
}

}  // namespace

const PeakKernel& peak_int8_neon_i8mm() {
  static constexpr PeakKernel kKernel = {
      .precision = "int8",
      .instruction_set = "NEON int8 matrix multiply",
      .operations_a_round = 2 * kSums * kLanes * kProducts,
      .is_supported = [] { return (getauxval(AT_HWCAP2) & HWCAP2_I8MM) != 0; },
      .run = run_peak_int8_neon_i8mm,
      .sum_after = [](std::int64_t rounds) { return static_cast<double>(rounds) * kSumOfRound; }};
  return kKernel;
}

}  // namespace assay::machine
#endif
