#if defined(__aarch64__)
#include <arm_neon.h>

#include "machine/peaks/peak_kernel.h"
#include "machine/peaks/register_sums.h"

namespace assay::machine {

namespace {

constexpr std::size_t kSums = 16;
constexpr int kLanes = 4;     // sums in 32 bits
constexpr int kProducts = 4;  // added to each
constexpr double kSumOfRound = kSums * kLanes * kProducts;

// Without dot products: two products in 16 bits, which cannot overflow, then both halves of them
// added to a sum.
[[gnu::noinline]] double run_peak_int8_neon(std::int64_t rounds) {
  int8x16_t left = hidden(vdupq_n_s8(1));
  const int8x16_t right = hidden(vdupq_n_s8(1));
  return register_sums<kSums, std::int32_t>(rounds, vdupq_n_s32(0), [&](int32x4_t sum) {
    left = hidden(left);
    const int16x8_t low = vmull_s8(vget_low_s8(left), vget_low_s8(right));
    return vpadalq_s16(sum, vmlal_high_s8(low, left, right));
  });
}

}  // namespace

const PeakKernel& peak_int8_neon() {
  static constexpr PeakKernel kKernel = {
      .precision = "int8",
      .instruction_set = "NEON",
      .operations_a_round = 2 * kSums * kLanes * kProducts,
      .is_supported = [] { return true; },
      .run = run_peak_int8_neon,
      .sum_after = [](std::int64_t rounds) { return static_cast<double>(rounds) * kSumOfRound; }};
  return kKernel;
}

}  // namespace assay::machine
#endif
