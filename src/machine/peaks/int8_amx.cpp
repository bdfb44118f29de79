#if defined(__x86_64__)
#include "base/instruction_set.h"
#include "machine/peaks/peak_kernel.h"
#include "machine/peaks/tile_sums.h"

namespace assay::machine {

namespace {

constexpr int kDepth = 64;  // products added to each sum
constexpr double kSumOfRound = static_cast<double>(kTileSums * kSumsOfTile * kDepth);

[[gnu::noinline]] double run_peak_int8_amx(std::int64_t rounds) {
  std::int8_t ones[1024];
  for (std::int8_t& one : ones) one = 1;
  return ASSAY_TILE_SUMS("tdpbusd", std::int32_t, ones, ones, rounds);
}

}  // namespace

const PeakKernel& peak_int8_amx() {
  static constexpr PeakKernel kKernel = {
      .precision = "int8",
      .instruction_set = kTileInstructions,
      .operations_a_round = 2 * kTileSums * kSumsOfTile * kDepth,
      .is_supported = processor_has_tiles,
      .run = run_peak_int8_amx,
      .sum_after = [](std::int64_t rounds) { return static_cast<double>(rounds) * kSumOfRound; }};
  return kKernel;
}

}  // namespace assay::machine
#endif
