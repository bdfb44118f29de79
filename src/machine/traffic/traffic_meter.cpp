#include "machine/traffic/traffic_meter.h"

#include <cmath>
#include <cstring>

#include "base/fail.h"
#include "base/round.h"

namespace assay::machine {

namespace {

// One after another in one block, a few cache lines apart: arrays at page-size distances would map
// to the same cache sets.
TrafficArrays arrays_in(const MemoryBlock& block, std::size_t bytes, std::size_t arrays) {
  constexpr std::size_t kApart = 5 * 8;
  TrafficArrays placed;
  placed.count = bytes / arrays / sizeof(double) / kTrafficStep * kTrafficStep;
  auto* numbers = reinterpret_cast<double*>(block.data());
  const std::size_t step = rounded_up(placed.count, std::size_t{8}) + kApart;
  placed.a = numbers;
  placed.b = arrays > 1 ? numbers + step : nullptr;
  placed.c = arrays > 2 ? numbers + 2 * step : nullptr;
  return placed;
}

void fill(const TrafficArrays& arrays) {
  std::fill_n(arrays.a, arrays.count, kFilledA);
  if (arrays.b != nullptr) std::fill_n(arrays.b, arrays.count, kFilledB);
  if (arrays.c != nullptr) std::fill_n(arrays.c, arrays.count, kFilledC);
}

// In large arrays a sample is checked, at a prime stride so that it includes every vector lane.
bool did_its_work(const TrafficKernel& kernel, const TrafficArrays& arrays, double sum,
                  std::size_t passes, bool is_memory) {
  if (kernel.reads_only) {
    return sum == kernel.expected * static_cast<double>(arrays.count * passes);
  }
  const std::size_t apart = is_memory ? 61 : 1;
  for (std::size_t i = 0; i < arrays.count; i += apart) {
    if (arrays.a[i] != kernel.expected) return false;
  }
  return arrays.a[arrays.count - 1] == kernel.expected;
}

}  // namespace

TrafficMeter::TrafficMeter(PinnedTeam& team, std::size_t most_bytes)
    : team_(team), most_bytes_(most_bytes) {
  constexpr std::size_t kApart = 4096;
  for (std::size_t i = 0; i < team.size(); ++i) {
    blocks_.emplace_back(most_bytes + kApart, "measuring bandwidth");
  }
}

// Piece by piece, so that it can be cancelled in between.
TrafficMeter::Written TrafficMeter::written_within(double seconds, std::size_t most_bytes,
                                                   int byte) {
  constexpr std::size_t kPiece = std::size_t{16} << 20;
  Written written;
  while (written.bytes < most_bytes && written.nanoseconds <= seconds * 1e9) {
    const std::size_t piece = std::min(kPiece, most_bytes - written.bytes);
    written.nanoseconds += static_cast<double>(team_.time([&](std::size_t thread) {
      std::memset(blocks_[thread].data() + written.bytes, byte, piece);
    }));
    written.bytes += piece;
  }
  return written;
}

// Each thread first touches its own buffer, so that the pages are on its NUMA node. The second time
// tells how fast it is.
std::size_t TrafficMeter::bytes_within(double pass_seconds, double touch_seconds) {
  const std::size_t touched = written_within(touch_seconds, most_bytes_, 0).bytes;
  const Written again = written_within(touch_seconds, touched, 1);
  const double bytes =
      static_cast<double>(again.bytes) * pass_seconds * 1e9 / std::max(1.0, again.nanoseconds);
  return std::min(touched, static_cast<std::size_t>(bytes));
}

Bandwidth TrafficMeter::measure(const TrafficKernel& kernel, const TrafficLevel& level,
                                const TryLimits& limits) {
  std::vector<TrafficArrays> arrays;
  for (const MemoryBlock& block : blocks_) {
    arrays.push_back(arrays_in(block, level.bytes, kernel.arrays));
  }
  team_.time([&](std::size_t thread) { fill(arrays[thread]); });
  std::vector<double> sums(team_.size());
  std::size_t passes = 1;
  const auto run = [&] {
    return team_.time(
        [&](std::size_t thread) { sums[thread] = kernel.run(arrays[thread], passes); });
  };
  if (!level.is_memory) {
    const auto once = static_cast<double>(best_of({2, 2}, run).best);
    passes = static_cast<std::size_t>(std::clamp(kTryNanoseconds / once, 1.0, 1e6));
  }
  const TryTimes times = best_of(limits, run);
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!did_its_work(kernel, arrays[i], sums[i], passes, level.is_memory)) {
      fail_running("{} in {}: wrote wrong values, so its time is meaningless", kernel.access,
                   level.name);
    }
  }
  const std::size_t numbers = arrays.front().count * team_.size();
  const double bytes =
      static_cast<double>(numbers * passes) * static_cast<double>(kernel.bytes_a_number);
  return {.level = level.name,
          .access = std::string(kernel.access),
          .threads = static_cast<int>(team_.size()),
          .bytes = static_cast<std::int64_t>(numbers * kernel.arrays * sizeof(double)),
          .gbps = bytes / static_cast<double>(times.best),
          .spread = times.spread};
}

}  // namespace assay::machine
