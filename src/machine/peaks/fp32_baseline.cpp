// Available on every processor of the architecture: 128 bits, and on x86-64 no fused multiply-add,
// so that half of the sums are multiplied and half added to.
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#include "machine/peaks/peak_kernel.h"
#include "machine/peaks/register_sums.h"

namespace assay::machine {

namespace {

using Floats = float __attribute__((vector_size(16)));

constexpr int kLanes = 4;
constexpr float kStep = 0x1p-10f;
#if defined(__aarch64__)
constexpr std::size_t kSums = 24;
constexpr std::int64_t kOperations = 2 * kSums * kLanes;
constexpr double kSumsAdded = kSums;
constexpr std::string_view kName = "NEON";
#else
constexpr std::size_t kSums = 12;
constexpr std::int64_t kOperations = kSums * kLanes;
constexpr double kSumsAdded = kSums / 2.0;
constexpr std::string_view kName = "baseline";
#endif
constexpr double kSumOfRound = kSumsAdded * kLanes * static_cast<double>(kStep);

#if defined(__aarch64__)
[[gnu::noinline]] double run_peak_fp32_baseline(std::int64_t rounds) {
  // Named, because standard C++ does not let a compiler fuse a product and a sum by itself.
  const float32x4_t one = hidden(vdupq_n_f32(1));
  const float32x4_t step = hidden(vdupq_n_f32(kStep));
  return register_sums<kSums, float>(rounds, vdupq_n_f32(0),
                                     [=](float32x4_t sum) { return vfmaq_f32(sum, one, step); });
}
#else
[[gnu::noinline]] double run_peak_fp32_baseline(std::int64_t rounds) {
  const Floats one = hidden(Floats{1, 1, 1, 1});
  const Floats step = hidden(Floats{kStep, kStep, kStep, kStep});
  Floats products[kSums / 2];
  Floats sums[kSums / 2];
#pragma GCC unroll 16
  for (Floats& product : products) product = hidden(one);
#pragma GCC unroll 16
  for (Floats& sum : sums) sum = hidden(Floats{});
  for (std::int64_t round = 0; round < rounds; ++round) {
#pragma GCC unroll 16
    for (Floats& product : products) product *= one;
#pragma GCC unroll 16
    for (Floats& sum : sums) sum += step;
  }
  double all = 0;
#pragma GCC unroll 16
  for (std::size_t i = 0; i < kSums / 2; ++i) all += total_of_lanes<float>(sums[i] * products[i]);
  return all;
}
#endif

}  // namespace

const PeakKernel& peak_fp32_baseline() {
  static constexpr PeakKernel kKernel = {
      .precision = "fp32",
      .instruction_set = kName,
      .operations_a_round = kOperations,
      .is_supported = [] { return true; },
      .run = run_peak_fp32_baseline,
      .sum_after = [](std::int64_t rounds) { return static_cast<double>(rounds) * kSumOfRound; }};
  return kKernel;
}

}  // namespace assay::machine
