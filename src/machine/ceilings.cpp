#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "assay/machine.h"
#include "assay/timing.h"
#include "base/fail.h"
#include "base/free_memory.h"
#include "base/memory_block.h"
#include "base/round.h"
#include "machine/peaks/peak_kernel.h"
#include "machine/pinned_team.h"
#include "machine/traffic/traffic_kernel.h"

namespace assay {

using namespace assay::machine;

namespace {

// A try is long enough for the clock and short enough to fall between two disturbances.
constexpr double kTryNanoseconds = 1e6;

// Tries end when the best is no accident: when several come as near as this.
constexpr double kNear = 1.01;
constexpr int kEnoughNear = 4;

struct Tries {
  int least = 1;
  int most = 1;
};

struct Effort {
  int sweeps = 3;  // over everything: a disturbance may outlast the tries of one kernel
  Tries in_caches = {8, 40};
  Tries in_memory = {1, 2};  // besides the two that tell how long one takes
};

void check(Progress& progress) {
  if (progress.cancelled()) throw Error(ErrorKind::Cancelled, "cancelled while measuring ceilings");
}

// The smallest time of several tries.
template <typename Try>
std::int64_t best_of(const Tries& tries, Try one) {
  std::vector<std::int64_t> times;
  std::int64_t best = 0;
  const auto is_no_accident = [&] {
    const auto near = static_cast<std::int64_t>(static_cast<double>(best) * kNear);
    return std::ranges::count_if(times, [&](auto time) { return time <= near; }) >= kEnoughNear;
  };
  for (int i = 0; i < tries.most && (i < tries.least || !is_no_accident()); ++i) {
    times.push_back(one());
    best = std::ranges::min(times);
  }
  return best;
}

// --- peaks

std::int64_t rounds_for_a_try(const PeakKernel& kernel, PinnedTeam& team) {
  constexpr std::int64_t kFew = 2000;
  const auto time =
      best_of({3, 3}, [&] { return team.time([&](std::size_t) { (void)kernel.run(kFew); }); });
  const double rounds = kFew * kTryNanoseconds / static_cast<double>(time);
  return std::clamp(static_cast<std::int64_t>(rounds), kFew, kMostRounds);
}

Peak measure_peak(const PeakKernel& kernel, PinnedTeam& team, const Tries& tries) {
  const std::int64_t rounds = rounds_for_a_try(kernel, team);
  std::vector<double> sums(team.size());
  const auto time = best_of(tries, [&] {
    return team.time([&](std::size_t thread) { sums[thread] = kernel.run(rounds); });
  });
  for (const double sum : sums) {
    if (sum != kernel.sum_after(rounds)) {
      fail_running("{} of {}: came to {} where {} is right, so its time means nothing",
                   kernel.precision, kernel.instruction_set, sum, kernel.sum_after(rounds));
    }
  }
  const auto operations =
      static_cast<double>(rounds * kernel.operations_a_round) * static_cast<double>(team.size());
  return {.precision = std::string(kernel.precision),
          .instruction_set = std::string(kernel.instruction_set),
          .threads = static_cast<int>(team.size()),
          .gflops = operations / static_cast<double>(time)};
}

// --- bandwidth

struct Level {
  std::string name;
  std::size_t bytes = 0;  // that each thread works on
  bool is_memory = false;
};

// Most of a private cache. Of a shared one, which others may use as well, a share of the half; but
// enough that the cache before it cannot hold it, and no more than it takes for that one to hold
// next to nothing.
std::vector<Level> levels_of(const Topology& topology, std::size_t threads) {
  std::vector<Level> levels;
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
  // As STREAM asks: each of three arrays four times the cache, all threads together.
  std::int64_t total = 3 * 4 * std::max(last, kLikelyLastCache);
  if (const auto free = free_memory_bytes()) total = std::min(total, *free / 4);
  levels.push_back({"DRAM", static_cast<std::size_t>(total) / threads, true});
  return levels;
}

// One after another in one block, a few lines apart: arrays a page's length apart would get into
// each other's way.
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

bool did_its_work(const TrafficKernel& kernel, const TrafficArrays& arrays, double sum,
                  std::size_t passes) {
  if (kernel.reads_only) {
    return sum == kernel.expected * static_cast<double>(arrays.count * passes);
  }
  return std::all_of(arrays.a, arrays.a + arrays.count,
                     [&](double number) { return number == kernel.expected; });
}

class TrafficMeter {
 public:
  TrafficMeter(PinnedTeam& team, std::size_t most_bytes) : team_(team) {
    constexpr std::size_t kApart = 4096;
    for (std::size_t i = 0; i < team.size(); ++i) {
      blocks_.emplace_back(most_bytes + kApart, "measuring bandwidth");
    }
  }

  Bandwidth measure(const TrafficKernel& kernel, const Level& level, const Tries& tries) {
    std::vector<TrafficArrays> arrays;
    for (const MemoryBlock& block : blocks_) {
      arrays.push_back(arrays_in(block, level.bytes, kernel.arrays));
    }
    // Each thread touches its own first, so that it lies near it.
    team_.time([&](std::size_t thread) { fill(arrays[thread]); });
    std::vector<double> sums(team_.size());
    std::size_t passes = 1;
    const auto run = [&] {
      return team_.time(
          [&](std::size_t thread) { sums[thread] = kernel.run(arrays[thread], passes); });
    };
    const std::int64_t once = best_of({2, 2}, run);
    passes =
        static_cast<std::size_t>(std::clamp(kTryNanoseconds / static_cast<double>(once), 1.0, 1e6));
    const std::int64_t best = best_of(tries, run);
    const auto time = static_cast<double>(passes == 1 ? std::min(once, best) : best);
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      if (!did_its_work(kernel, arrays[i], sums[i], passes)) {
        fail_running("{} in {}: left wrong numbers behind, so its time means nothing",
                     kernel.access, level.name);
      }
    }
    const std::size_t numbers = arrays.front().count * team_.size();
    const double bytes =
        static_cast<double>(numbers * passes) * static_cast<double>(kernel.bytes_a_number);
    return {.level = level.name,
            .access = std::string(kernel.access),
            .threads = static_cast<int>(team_.size()),
            .bytes = static_cast<std::int64_t>(numbers * kernel.arrays * sizeof(double)),
            .gbps = bytes / time};
  }

 private:
  PinnedTeam& team_;
  std::vector<MemoryBlock> blocks_;
};

bool is_wanted(const TrafficKernel& kernel, const Level& level, const CeilingOptions& options) {
  const bool goes_past_caches = kernel.access.ends_with("-nt");
  if (goes_past_caches && !level.is_memory) return false;
  return !options.quick || !kernel.access.starts_with("copy");
}

// --- all

// Reports how far all that there is to measure has come.
class Reporter {
 public:
  Reporter(Progress& progress, std::size_t all) : progress_(progress), all_(all) {}
  void next(const std::string& what) {
    check(progress_);
    progress_.report(static_cast<double>(done_++) / static_cast<double>(all_), what);
  }

 private:
  Progress& progress_;
  std::size_t all_ = 1;
  std::size_t done_ = 0;
};

Effort effort_for(const CeilingOptions& options) {
  return options.quick ? Effort{.sweeps = 1, .in_caches = {8, 20}, .in_memory = {2, 2}} : Effort{};
}

// A row that was measured before gets the better of both rates.
template <typename Row, typename IsSame>
void keep_best(std::vector<Row>& rows, Row row, double Row::*rate, IsSame is_same) {
  const auto before = std::ranges::find_if(rows, is_same);
  if (before == rows.end()) {
    rows.push_back(std::move(row));
  } else {
    (*before).*rate = std::max((*before).*rate, row.*rate);
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

// One processor, and all of them, unless others are asked for.
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

void measure_with(PinnedTeam& team, const Topology& topology, const CeilingOptions& options,
                  Reporter& reporter, Ceilings& ceilings) {
  const Effort effort = effort_for(options);
  for (const PeakKernel* kernel : wanted_peaks(options)) {
    reporter.next("measuring peaks");
    keep(measure_peak(*kernel, team, effort.in_caches), ceilings);
  }
  const auto levels = levels_of(topology, team.size());
  const auto most = std::ranges::max(levels, {}, &Level::bytes).bytes;
  TrafficMeter meter(team, most);
  for (const Level& level : levels) {
    for (const TrafficKernel& kernel : traffic_table().kernels) {
      if (!is_wanted(kernel, level, options)) continue;
      reporter.next("measuring bandwidth");
      keep(meter.measure(kernel, level, level.is_memory ? effort.in_memory : effort.in_caches),
           ceilings);
    }
  }
}

std::size_t things_to_measure(const Topology& topology, const CeilingOptions& options) {
  std::size_t count = wanted_peaks(options).size();
  for (const Level& level : levels_of(topology, 1)) {
    for (const TrafficKernel& kernel : traffic_table().kernels) {
      count += is_wanted(kernel, level, options) ? 1 : 0;
    }
  }
  return count;
}

template <typename Row, typename Matches>
std::optional<double> best_rate(const std::vector<Row>& rows, double Row::*rate, Matches matches) {
  std::optional<double> best;
  for (const Row& row : rows) {
    if (matches(row)) best = std::max(best.value_or(0), row.*rate);
  }
  return best;
}

std::vector<std::string> doubts_between(const std::optional<MachineTimes>& before,
                                        const std::optional<MachineTimes>& after) {
  std::vector<std::string> doubts;
  for (const TimingWarning& warning : disturbances(before, after)) {
    if (warning.makes_noisy) doubts.push_back(warning.message);
  }
  return doubts;
}

}  // namespace

Ceilings measure_ceilings(const Topology& topology, const CeilingOptions& options,
                          Progress* progress, MachineState& state) {
  Progress silent;
  Progress& listener = progress != nullptr ? *progress : silent;
  const std::int64_t start = steady_clock().nanoseconds();
  const auto teams = teams_for(topology, options);
  const auto sweeps = static_cast<std::size_t>(effort_for(options).sweeps);
  Reporter reporter(listener, sweeps * teams.size() * things_to_measure(topology, options));
  Ceilings ceilings;
  const auto before = state.times();
  for (std::size_t sweep = 0; sweep < sweeps; ++sweep) {
    for (const auto& processors : teams) {
      PinnedTeam team(processors);
      measure_with(team, topology, options, reporter, ceilings);
    }
  }
  ceilings.doubts = doubts_between(before, state.times());
  ceilings.seconds = static_cast<double>(steady_clock().nanoseconds() - start) * 1e-9;
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
