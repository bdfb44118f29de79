#include "timing/clock.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "stats/order_statistics.h"

namespace assay {

using namespace assay::timing;

namespace {

// In several rounds: a round that was interrupted says nothing about the clock.
constexpr int kReadings = 200;
constexpr std::size_t kRounds = 9;

class SteadyClock : public Clock {
 public:
  std::int64_t nanoseconds() override {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
  }
};

}  // namespace

Clock& steady_clock() {
  static SteadyClock clock;
  return clock;
}

ClockQuality timing::probe(Clock& clock) {
  std::int64_t last = clock.nanoseconds();
  std::int64_t smallest_step = 0;
  std::array<double, kRounds> costs_ns = {};
  for (double& cost_ns : costs_ns) {
    const std::int64_t first = last;
    for (int reading = 0; reading < kReadings; ++reading) {
      const std::int64_t now = clock.nanoseconds();
      const std::int64_t step = now - last;
      if (step > 0 && (smallest_step == 0 || step < smallest_step)) smallest_step = step;
      last = now;
    }
    cost_ns = static_cast<double>(std::max<std::int64_t>(0, last - first)) / kReadings;
  }
  return {.cost_ns = stats::median(costs_ns),
          .resolution_ns = static_cast<double>(std::max<std::int64_t>(1, smallest_step))};
}

double timing::clock_share(const ClockQuality& quality, double sample_ns) {
  if (!(sample_ns > 0)) return 1;
  return std::min(1.0, std::max(quality.cost_ns, quality.resolution_ns) / sample_ns);
}

std::size_t timing::runs_needed(const ClockQuality& quality, double run_ns) {
  if (clock_share(quality, run_ns) <= kShareAlone) return 1;
  if (!(run_ns > 0)) return kMostRunsPerSample;
  const double needed = clock_share(quality, run_ns) / kShareTogether;
  return static_cast<std::size_t>(
      std::clamp(std::ceil(needed), 1.0, static_cast<double>(kMostRunsPerSample)));
}

double timing::time_runs(const TimedWork& timed, std::size_t runs, Clock& clock) {
  const std::int64_t start = clock.nanoseconds();
  timed.work(runs);
  const std::int64_t end = clock.nanoseconds();
  return static_cast<double>(std::max<std::int64_t>(0, end - start));
}

}  // namespace assay
