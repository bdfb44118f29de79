#include "cli/fewer_threads.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace assay::cli {

namespace {

constexpr double kLongestRunMs = 5;
constexpr int kRounds = 3;
constexpr double kRoundSeconds = 0.05;
constexpr double kClearlyFaster = 0.95;

double median_ms(const Graph& graph, ProfileOptions options, int threads) {
  options.run.program.cpu.threads = threads;
  options.timing = {};
  options.timing.min_seconds = kRoundSeconds;
  options.timing.max_seconds = kRoundSeconds;
  options.traced_runs = 0;
  options.count_events = false;
  options.measure_energy = false;
  options.judge = false;
  return profile_model(graph, "", options).latency.latency.median_ms;
}

struct BothTimes {
  double few_ms = std::numeric_limits<double>::max();
  bool is_always_faster = true;
};

// In turns, so that other programs disturb both.
BothTimes times_of(const Graph& graph, const ProfileOptions& options, int few, int many) {
  BothTimes times;
  for (int round = 0; round < kRounds && times.is_always_faster; ++round) {
    const double few_ms = median_ms(graph, options, few);
    const double many_ms = median_ms(graph, options, many);
    times.few_ms = std::min(times.few_ms, few_ms);
    times.is_always_faster = few_ms < kClearlyFaster * many_ms;
  }
  return times;
}

}  // namespace

std::optional<std::string> fewer_threads_note(const Graph& graph, const ProfileOptions& options,
                                              const Profile& profile) {
  const bool may_be_faster =
      profile.program.cpu.threads > 1 && profile.latency.latency.median_ms <= kLongestRunMs;
  if (!may_be_faster || profile.latency.cancelled) return {};
  const int threads = profile.program.cpu.threads;
  const BothTimes times = times_of(graph, options, 1, threads);
  // Also faster than the median of the report, which the note must not contradict.
  const bool beats_report = times.few_ms < kClearlyFaster * profile.run_ms();
  if (!times.is_always_faster || !beats_report) return {};
  return fmt::format("1 thread is faster: {}, against {} on {} threads; use --threads 1",
                     duration_text(times.few_ms), duration_text(profile.run_ms()), threads);
}

}  // namespace assay::cli
