// A clock that only simulated work advances, noise with a known true median, and a made-up machine.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "assay/timing.h"
#include "stats/random.h"

namespace assay::testing {

class FakeClock : public Clock {
 public:
  explicit FakeClock(std::int64_t cost_ns = 0, std::int64_t tick_ns = 1)
      : cost_ns_(cost_ns), tick_ns_(tick_ns) {}

  std::int64_t nanoseconds() override {
    now_ += cost_ns_;
    return now_ / tick_ns_ * tick_ns_;
  }
  void pass(double nanoseconds) { now_ += std::llround(nanoseconds); }
  double seconds() const { return static_cast<double>(now_) * 1e-9; }

 private:
  std::int64_t now_ = 0;
  std::int64_t cost_ns_ = 0;
  std::int64_t tick_ns_ = 1;
};

// Hands out the given times one after the other, and the last one from then on.
class FakeMachine : public MachineState {
 public:
  explicit FakeMachine(std::vector<MachineTimes> times = {}) : times_(std::move(times)) {}

  std::optional<MachineTimes> times() override {
    if (times_.empty()) return std::nullopt;
    const auto now = times_[std::min(next_, times_.size() - 1)];
    ++next_;
    return now;
  }

 private:
  std::vector<MachineTimes> times_;
  std::size_t next_ = 0;
};

// Factors of a run's time: two groups of log-normal ones around 1 and around `other`.
struct Noise {
  double deviation = 0.05;  // on the log scale
  double other = 1;         // centre of the second group
  double other_share = 0;
  double persistence = 0;    // of the log, from one run to the next: AR(1)
  double burst_length = 0;   // mean number of successive runs in the second group; 0: by chance
  bool heavy_tails = false;  // Student's t with two degrees of freedom: no finite variance
};

inline double below(double value, double centre, double deviation) {
  return 0.5 * std::erfc(-std::log(value / centre) / deviation / std::sqrt(2.0));
}

inline double true_median(const Noise& noise) {
  double low = 0.1;
  double high = 10;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    const double share = (1 - noise.other_share) * below(middle, 1, noise.deviation) +
                         noise.other_share * below(middle, noise.other, noise.deviation);
    (share < 0.5 ? low : high) = middle;
  }
  return low;
}

class NoisyRuns {
 public:
  NoisyRuns(const Noise& noise, std::uint64_t seed)
      : noise_(noise), random_(seed), state_(random_.normal()) {
    if (noise_.burst_length > 0) is_other_ = random_.uniform() < noise_.other_share;
  }

  double next() {
    const double fresh = std::sqrt(1 - noise_.persistence * noise_.persistence);
    state_ = noise_.persistence * state_ + fresh * random_.normal();
    is_other_ = random_.uniform() < chance_of_other();
    const double scale = noise_.heavy_tails ? 1 / std::sqrt(-std::log(1 - random_.uniform())) : 1;
    const double log = std::clamp(noise_.deviation * scale * state_, -5.0, 5.0);
    return (is_other_ ? noise_.other : 1) * std::exp(log);
  }

 private:
  // Bursts begin and end so often that they have the share and the length asked for.
  double chance_of_other() const {
    if (noise_.burst_length <= 0) return noise_.other_share;
    if (is_other_) return 1 - 1 / noise_.burst_length;
    return noise_.other_share / (1 - noise_.other_share) / noise_.burst_length;
  }

  Noise noise_;
  Random random_;
  double state_ = 0;
  bool is_other_ = false;
};

// Work that takes `run_ns` times whatever `factor` says for each run.
inline TimedWork simulated_work(FakeClock& clock, double run_ns, std::function<double()> factor) {
  TimedWork timed;
  timed.work = [&clock, run_ns, factor = std::move(factor)](std::size_t runs) {
    for (std::size_t i = 0; i < runs; ++i) clock.pass(run_ns * factor());
  };
  return timed;
}

inline TimedWork constant_work(FakeClock& clock, double run_ns) {
  return simulated_work(clock, run_ns, [] { return 1.0; });
}

inline Measurement simulate(const Noise& noise, double run_ns, std::uint64_t seed,
                            const TimingOptions& options = {}) {
  FakeClock clock(24, 20);
  FakeMachine machine;
  NoisyRuns runs(noise, seed);
  return measure(simulated_work(clock, run_ns, [&] { return runs.next(); }), options, nullptr,
                 clock, machine);
}

inline const TimingWarning* find_warning(const Measurement& measured, std::string_view name) {
  for (const auto& warning : measured.warnings) {
    if (warning.name == name) return &warning;
  }
  return nullptr;
}

}  // namespace assay::testing
