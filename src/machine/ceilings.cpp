#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "assay/machine.h"
#include "assay/timing.h"
#include "base/fail.h"
#include "base/free_memory.h"
#include "machine/peaks/peak_kernel.h"
#include "machine/pinned_team.h"
#include "machine/traffic/traffic_kernel.h"
#include "machine/traffic/traffic_meter.h"
#include "machine/tries.h"

namespace assay {

using namespace assay::machine;

namespace {

// How the available time is divided. A round measures everything once with every team of threads: a
// disturbance may outlast the tries of one kernel, so there are several rounds while there is time.
struct Plan {
  double seconds = 0;        // for everything
  std::size_t rounds = 1;    // at most
  double touch_seconds = 0;  // of one team in one round: to allocate buffers,
  double pass_seconds = 0;   // to pass once over a buffer in memory,
  double try_seconds = 0;    // and to try one kernel that works in registers or caches
};

// --- peaks

std::int64_t rounds_for_a_try(const PeakKernel& kernel, PinnedTeam& team) {
  constexpr std::int64_t kFew = 2000;
  const TryTimes times =
      best_of({3, 3}, [&] { return team.time([&](std::size_t) { (void)kernel.run(kFew); }); });
  const double rounds = kFew * kTryNanoseconds / static_cast<double>(times.best);
  return std::clamp(static_cast<std::int64_t>(rounds), kFew, kMostRounds);
}

Peak measure_peak(const PeakKernel& kernel, PinnedTeam& team, const TryLimits& limits) {
  const std::int64_t rounds = rounds_for_a_try(kernel, team);
  std::vector<double> sums(team.size());
  const TryTimes times = best_of(limits, [&] {
    return team.time([&](std::size_t thread) { sums[thread] = kernel.run(rounds); });
  });
  for (const double sum : sums) {
    if (sum != kernel.sum_after(rounds)) {
      fail_running("{} of {}: computed {} instead of {}, so its time is meaningless",
                   kernel.precision, kernel.instruction_set, sum, kernel.sum_after(rounds));
    }
  }
  const auto operations =
      static_cast<double>(rounds * kernel.operations_a_round) * static_cast<double>(team.size());
  return {.precision = std::string(kernel.precision),
          .instruction_set = std::string(kernel.instruction_set),
          .threads = static_cast<int>(team.size()),
          .gflops = operations / static_cast<double>(times.best),
          .spread = times.spread};
}

// --- bandwidth

// Most of a private cache. Of a shared cache, which others may use as well, a share of half of it;
// but enough that it does not fit the next smaller cache, and no more than needed for that cache to
// hold almost none of it.
std::vector<TrafficLevel> levels_of(const Topology& topology, std::size_t threads) {
  std::vector<TrafficLevel> levels;
  std::size_t before = 0;
  for (const CacheLevel& cache : topology.caches) {
    const auto size = static_cast<std::size_t>(cache.bytes);
    const auto sharing = std::min(threads, static_cast<std::size_t>(std::max(1, cache.processors)));
    std::size_t bytes = cache.processors > 1 ? size / 2 / sharing : size / 4 * 3;
    if (before > 0 && cache.processors > 1) bytes = std::clamp(bytes, 2 * before, 8 * before);
    levels.push_back({fmt::format("L{}", cache.level), bytes});
    before = size;
  }
  constexpr std::int64_t kLikelyLastCache = std::int64_t{32} << 20;
  const std::int64_t last =
      topology.caches.empty() ? kLikelyLastCache : topology.caches.back().bytes;
  // As STREAM requires: each of three arrays four times the cache, over all threads; but no more
  // than can be written a few times in the time available (`bytes_within`).
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  std::int64_t total = std::min(kMost, 3 * 4 * std::max(last, kLikelyLastCache));
  if (const auto free = free_memory_bytes()) total = std::min(total, *free / 4);
  levels.push_back({"DRAM", static_cast<std::size_t>(total) / threads, true});
  return levels;
}

bool is_wanted(const TrafficKernel& kernel, const TrafficLevel& level,
               const CeilingOptions& options) {
  const bool bypasses_caches = kernel.access.ends_with("-nt");
  if (bypasses_caches && !level.is_memory) return false;
  return !options.quick || !kernel.access.starts_with("copy");
}

// --- all

// Reports the share of the time that has passed.
class Reporter {
 public:
  Reporter(Progress& progress, double seconds) : progress_(progress), seconds_(seconds) {}

  void next(const std::string& what) { progress_.report(std::min(1.0, spent() / seconds_), what); }
  double spent() const { return static_cast<double>(steady_clock().nanoseconds() - start_) * 1e-9; }

 private:
  Progress& progress_;
  double seconds_ = 1;
  std::int64_t start_ = steady_clock().nanoseconds();
};

// Of two rows for the same quantity the better one is kept, with its spread.
template <typename Row, typename IsSame>
void keep_best(std::vector<Row>& rows, Row row, double Row::*rate, IsSame is_same) {
  const auto before = std::ranges::find_if(rows, is_same);
  if (before == rows.end()) {
    rows.push_back(std::move(row));
  } else if (row.*rate > (*before).*rate) {
    *before = std::move(row);
  }
}

void keep(Peak peak, Ceilings& ceilings) {
  const auto is_same = [peak](const Peak& other) {
    return other.precision == peak.precision && other.instruction_set == peak.instruction_set &&
           other.threads == peak.threads;
  };
  keep_best(ceilings.peaks, std::move(peak), &Peak::gflops, is_same);
}

void keep(Bandwidth one, Ceilings& ceilings) {
  const auto is_same = [one](const Bandwidth& other) {
    return other.level == one.level && other.access == one.access && other.threads == one.threads;
  };
  keep_best(ceilings.bandwidths, std::move(one), &Bandwidth::gbps, is_same);
}

std::vector<const PeakKernel*> wanted_peaks(const CeilingOptions& options) {
  std::vector<const PeakKernel*> kernels = supported_peak_kernels();
  std::erase_if(kernels, [&](const PeakKernel* kernel) {
    return options.precision && kernel->precision != *options.precision;
  });
  return kernels;
}

// One processor and all of them, unless other counts are requested.
std::vector<std::vector<int>> teams_for(const Topology& topology, const CeilingOptions& options) {
  const auto all = static_cast<int>(topology.usable.size());
  const std::set<int> counts =
      options.thread_counts.empty()
          ? std::set<int>{1, all}
          : std::set<int>(options.thread_counts.begin(), options.thread_counts.end());
  std::vector<std::vector<int>> teams;
  for (const int count : counts) {
    const auto begin = topology.usable.begin();
    teams.emplace_back(begin, begin + std::clamp(count, 1, all));
  }
  return teams;
}

struct ThingsToMeasure {
  std::size_t in_caches = 0;  // or in registers
  std::size_t in_memory = 0;
};

ThingsToMeasure things_to_measure(const Topology& topology, const CeilingOptions& options) {
  ThingsToMeasure count{.in_caches = wanted_peaks(options).size()};
  for (const TrafficLevel& level : levels_of(topology, 1)) {
    for (const TrafficKernel& kernel : traffic_table().kernels) {
      if (!is_wanted(kernel, level, options)) continue;
      (level.is_memory ? count.in_memory : count.in_caches) += 1;
    }
  }
  return count;
}

// Of a team's time in one round, a sixth allocates buffers, half works in memory.
Plan plan_of(const CeilingOptions& options, const Topology& topology, std::size_t teams) {
  constexpr double kLeastRounds = 2;   // that time is reserved for
  constexpr double kPassesOver = 4.0;  // a buffer in memory: filled, tried, checked
  Plan plan{.seconds = seconds_to_measure(options),
            .rounds = options.quick ? std::size_t{1} : std::size_t{3}};
  const double share =
      plan.seconds / static_cast<double>(teams) / (options.quick ? 1.0 : kLeastRounds);
  const ThingsToMeasure things = things_to_measure(topology, options);
  plan.touch_seconds = share / 6;
  plan.pass_seconds = share / 2 / kPassesOver / static_cast<double>(things.in_memory);
  plan.try_seconds = share / 4 / static_cast<double>(things.in_caches);
  return plan;
}

void measure_bandwidths(PinnedTeam& team, const Topology& topology, const CeilingOptions& options,
                        const Plan& plan, Reporter& reporter, Ceilings& ceilings) {
  auto levels = levels_of(topology, team.size());
  TrafficMeter meter(team, std::ranges::max(levels, {}, &TrafficLevel::bytes).bytes);
  for (TrafficLevel& level : levels) {
    if (level.is_memory) {
      level.bytes =
          std::min(level.bytes, meter.bytes_within(plan.pass_seconds, plan.touch_seconds));
    }
    const TryLimits limits = level.is_memory ? TryLimits{2, 4, 2 * plan.pass_seconds}
                                             : TryLimits{4, 40, plan.try_seconds};
    for (const TrafficKernel& kernel : traffic_table().kernels) {
      if (!is_wanted(kernel, level, options)) continue;
      reporter.next("measuring bandwidth");
      keep(meter.measure(kernel, level, limits), ceilings);
    }
  }
}

void measure_round(PinnedTeam& team, const Topology& topology, const CeilingOptions& options,
                   const Plan& plan, Reporter& reporter, Ceilings& ceilings) {
  for (const PeakKernel* kernel : wanted_peaks(options)) {
    reporter.next("measuring peaks");
    keep(measure_peak(*kernel, team, {4, 40, plan.try_seconds}), ceilings);
  }
  measure_bandwidths(team, topology, options, plan, reporter, ceilings);
}

template <typename Row, typename Matches>
std::optional<double> best_rate(const std::vector<Row>& rows, double Row::*rate, Matches matches) {
  std::optional<double> best;
  for (const Row& row : rows) {
    if (matches(row)) best = std::max(best.value_or(0), row.*rate);
  }
  return best;
}

std::vector<std::string> warnings_between(const std::optional<MachineTimes>& before,
                                          const std::optional<MachineTimes>& after) {
  std::vector<std::string> warnings;
  for (const TimingWarning& warning : disturbances(before, after)) {
    if (warning.makes_noisy) warnings.push_back(warning.message);
  }
  return warnings;
}

}  // namespace

double seconds_to_measure(const CeilingOptions& options) {
  constexpr double kSeconds = 12;
  constexpr double kQuickSeconds = 1.5;  // for each number of threads
  if (options.seconds) return *options.seconds;
  if (!options.quick) return kSeconds;
  const std::size_t counts = options.thread_counts.empty() ? 2 : options.thread_counts.size();
  return kQuickSeconds * static_cast<double>(counts);
}

Ceilings measure_ceilings(const Topology& topology, const CeilingOptions& options,
                          Progress* progress, MachineState& state) {
  Progress silent;
  Progress& listener = progress != nullptr ? *progress : silent;
  const auto teams = teams_for(topology, options);
  const Plan plan = plan_of(options, topology, teams.size());
  Reporter reporter(listener, plan.seconds);
  Ceilings ceilings;
  const auto before = state.times();
  double round_seconds = 0;  // of the longest so far
  for (std::size_t round = 0; round < plan.rounds; ++round) {
    const double start = reporter.spent();
    if (round > 0 && start + round_seconds > plan.seconds) break;
    for (const auto& processors : teams) {
      PinnedTeam team(processors, &listener);
      measure_round(team, topology, options, plan, reporter, ceilings);
    }
    round_seconds = std::max(round_seconds, reporter.spent() - start);
  }
  ceilings.warnings = warnings_between(before, state.times());
  ceilings.seconds = reporter.spent();
  return ceilings;
}

Ceilings better_of(Ceilings some, const Ceilings& others) {
  for (const Peak& peak : others.peaks) keep(peak, some);
  for (const Bandwidth& one : others.bandwidths) keep(one, some);
  some.seconds += others.seconds;
  return some;
}

std::string fingerprint(const Topology& topology) {
  std::string all = fmt::format("{}; {} usable", topology.processor, topology.usable.size());
  for (const CacheLevel& cache : topology.caches) {
    all += fmt::format("; L{} {} for {}", cache.level, cache.bytes, cache.processors);
  }
  for (const PeakKernel* kernel : supported_peak_kernels()) {
    all += fmt::format("; {} {}", kernel->precision, kernel->instruction_set);
  }
  return all + fmt::format("; {}", traffic_table().instruction_set);
}

std::optional<double> peak_gflops(const Ceilings& ceilings, const std::string& precision,
                                  int threads) {
  return best_rate(ceilings.peaks, &Peak::gflops, [&](const Peak& peak) {
    return peak.precision == precision && peak.threads == threads;
  });
}

std::optional<double> bandwidth_gbps(const Ceilings& ceilings, const std::string& level,
                                     const std::string& access, int threads) {
  return best_rate(ceilings.bandwidths, &Bandwidth::gbps, [&](const Bandwidth& one) {
    return one.level == level && one.access == access && one.threads == threads;
  });
}

}  // namespace assay
