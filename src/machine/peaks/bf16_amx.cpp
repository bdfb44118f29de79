#if defined(__x86_64__)
#include "base/instruction_set.h"
#include "machine/peaks/peak_kernel.h"
#include "machine/peaks/tile_sums.h"

namespace assay::machine {

namespace {

constexpr int kDepth = 32;               // products added to each sum
constexpr std::uint16_t kOne = 0x3f80;   // as bf16
constexpr std::uint16_t kStep = 0x3a00;  // 2^-11: sums stay exact
constexpr double kSumOfRound = static_cast<double>(kTileSums * kSumsOfTile * kDepth) * 0x1p-11;

[[gnu::noinline]] double run_peak_bf16_amx(std::int64_t rounds) {
  std::uint16_t ones[512], steps[512];
  for (std::uint16_t& one : ones) one = kOne;
  for (std::uint16_t& step : steps) step = kStep;
  return ASSAY_TILE_SUMS("tdpbf16ps", float, ones, steps, rounds);
}

}  // namespace

const PeakKernel& peak_bf16_amx() {
  static constexpr PeakKernel kKernel = {
      .precision = "bf16",
      .instruction_set = kTileInstructions,
      .operations_a_round = 2 * kTileSums * kSumsOfTile * kDepth,
      .is_supported = processor_has_tiles,
      .run = run_peak_bf16_amx,
      .sum_after = [](std::int64_t rounds) { return static_cast<double>(rounds) * kSumOfRound; }};
  return kKernel;
}

}  // namespace assay::machine
#endif
