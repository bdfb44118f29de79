#include "timing/warnings.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "stats/bimodality.h"
#include "stats/bursts.h"
#include "stats/median_interval.h"
#include "stats/steadiness.h"
#include "timing/board_throttling.h"
#include "timing/gpu_warnings.h"

namespace assay {

using namespace assay::timing;

namespace {

constexpr std::size_t kFewSamples = 30;
constexpr double kFewestCorrelated = 10;  // that samples count as, for an interval to be believed
// Between two modes: from which a median that falls on the other one is another result.
constexpr double kGapNoisy = 0.10;
// A drift or a change of level: from which another moment would have given another result.
constexpr double kChangeNoisy = 0.05;
// Of bursts: from how many on their share is known, and which share is mentioned or noisy.
constexpr std::size_t kEnoughBursts = 10;
constexpr double kBurstsMentioned = 0.01;
constexpr double kBurstsNoisy = 0.10;
constexpr double kSlowFirstRun = 2.0;  // times the median
// The clock's share of a sample: from which it is mentioned, and from which the result is noisy.
constexpr double kClockMentioned = 2 * kShareAlone;
constexpr double kClockNoisy = 0.01;
// Shares of all processor time. Ticks are 10 ms, so a short interval says nothing.
constexpr double kLoadMentioned = 0.10;
constexpr double kLoadNoisy = 0.25;
// Of the time in which this process could have run: the share in which something else did.
constexpr double kWaitNoisy = 0.05;
constexpr double kStealMentioned = 0.01;
constexpr double kStealNoisy = 0.05;
constexpr double kShortestObservedSeconds = 0.2;

using MaybeWarning = std::optional<TimingWarning>;

MaybeWarning few_samples(const Measurement& measured, const Circumstances& circumstances) {
  const std::size_t count = measured.samples_ms.size();
  if (count >= kFewSamples) return std::nullopt;
  const bool no_interval = circumstances.effective_samples < stats::kFewestForInterval;
  const auto* consequence =
      count == 1    ? "one has no interval"
      : no_interval ? "too few for a 95 % interval, the smallest and the largest are given"
                    : "too few to detect drift, a second mode or autocorrelation";
  return TimingWarning{"few-samples",
                       fmt::format("{} sample{}: {}", count, count == 1 ? "" : "s", consequence),
                       "allow more time or more samples", no_interval};
}

bool is_within(const LatencySummary& latency, double target) {
  if (!latency.ci95_low_ms || !latency.ci95_high_ms) return false;
  const double reach =
      std::max(latency.median_ms - *latency.ci95_low_ms, *latency.ci95_high_ms - latency.median_ms);
  return reach <= target * latency.median_ms;
}

// Samples that are correlated, and whose interval is narrow enough all the same.
bool is_only_correlated(const Measurement& measured, const Circumstances& circumstances) {
  const auto count = static_cast<double>(measured.samples_ms.size());
  return circumstances.effective_samples >= kFewestCorrelated &&
         circumstances.effective_samples < count &&
         is_within(measured.latency, circumstances.target);
}

MaybeWarning wide_interval(const Measurement& measured, const Circumstances& circumstances) {
  if (measured.unmet.empty()) return std::nullopt;
  if (is_only_correlated(measured, circumstances)) {
    return TimingWarning{"correlated", measured.unmet,
                         "allow more time if the last percent matters", false};
  }
  return TimingWarning{"wide-interval", measured.unmet,
                       "allow more time, or close other programs and measure again", true};
}

MaybeWarning unsteady(const Measurement& measured, const Circumstances& circumstances) {
  const auto test = stats::test_steadiness(measured.samples_ms, circumstances.target);
  const double percent = 100 * std::abs(test.relative_change);
  const auto* direction = test.relative_change > 0 ? "slower" : "faster";
  const bool is_large = std::abs(test.relative_change) >= kChangeNoisy;
  if (test.found == stats::Steadiness::Drift) {
    return TimingWarning{
        "drift", fmt::format("runs became {:.1f} % {} from first to last", percent, direction),
        "warm up longer, let the machine cool down, and measure again", is_large};
  }
  if (test.found == stats::Steadiness::LevelChange) {
    return TimingWarning{
        "level-change",
        fmt::format("from sample {} of {} on, runs were {:.1f} % {}", test.position + 1,
                    measured.samples_ms.size(), percent, direction),
        "something changed on the machine (frequency, another program): measure "
        "again",
        is_large};
  }
  return std::nullopt;
}

MaybeWarning two_modes(const Measurement& measured, const Circumstances&) {
  const auto modes = stats::find_modes(measured.samples_ms);
  if (!modes.bimodal) return std::nullopt;
  return TimingWarning{"bimodal",
                       fmt::format("{:.0f} % of the samples lie around {}, {:.0f} % around {}",
                                   100 * (1 - modes.upper_share), duration_text(modes.lower),
                                   100 * modes.upper_share, duration_text(modes.upper)),
                       "pin threads to cores, and look for work that only some runs do",
                       modes.upper > (1 + kGapNoisy) * modes.lower};
}

MaybeWarning few_bursts(const Measurement& measured, const Circumstances&) {
  const auto bursts = stats::find_bursts(measured.samples_ms);
  if (bursts.count >= kEnoughBursts || bursts.share < kBurstsMentioned) return std::nullopt;
  const bool one = bursts.count == 1;
  return TimingWarning{"bursts",
                       fmt::format("{} burst{} of slower runs, {:.2g} % of the samples: too few to "
                                   "know how often they come",
                                   bursts.count, one ? "" : "s", 100 * bursts.share),
                       "close other programs, or allow more time", bursts.share >= kBurstsNoisy};
}

MaybeWarning first_run(const Measurement& measured, const Circumstances& circumstances) {
  const double median = measured.latency.median_ms;
  if (!measured.first_run_ms || !(median > 0)) return std::nullopt;
  const double factor = *measured.first_run_ms / median;
  if (factor < kSlowFirstRun) return std::nullopt;
  return TimingWarning{
      "first-run",
      fmt::format("the first run took {}, {:.1f} times the median",
                  duration_text(*measured.first_run_ms), factor),
      circumstances.first_run_is_a_sample
          ? "it is among the samples: warm up first"
          : "it is not among the samples, but a program that runs only once has this latency",
      false};
}

MaybeWarning clock_resolution(const Measurement& measured, const Circumstances& circumstances) {
  const double sample_ns =
      measured.latency.median_ms * 1e6 * static_cast<double>(measured.runs_per_sample);
  const double share = clock_share(circumstances.clock, sample_ns);
  if (share < kClockMentioned) return std::nullopt;
  return TimingWarning{
      "clock-resolution",
      fmt::format("a sample lasts {:.3g} ns; reading the clock costs {:.3g} ns and it ticks in "
                  "steps of {:.3g} ns",
                  sample_ns, circumstances.clock.cost_ns, circumstances.clock.resolution_ns),
      "use more runs per sample: do not fix the number of samples, and warm up with a few runs",
      share >= kClockNoisy};
}

// Shares of the total processor time while the samples were taken.
struct Shares {
  double others = 0;
  double stolen = 0;
  std::optional<double> waited = {};  // of the time in which this process could have run
};

std::optional<double> share_waited(const MachineTimes& before, const MachineTimes& after) {
  if (!before.waited_seconds || !after.waited_seconds) return std::nullopt;
  const double waited = std::max(0.0, *after.waited_seconds - *before.waited_seconds);
  const double ready = waited + after.own_seconds - before.own_seconds;
  return ready > 0 ? waited / ready : 0.0;
}

std::optional<Shares> shares_of_machine(const MachineTimes& before, const MachineTimes& after) {
  const double busy = after.busy_seconds - before.busy_seconds;
  const double idle = after.idle_seconds - before.idle_seconds;
  const double stolen = after.stolen_seconds - before.stolen_seconds;
  const double own = after.own_seconds - before.own_seconds;
  const double all = busy + idle + stolen;
  if (!(all >= kShortestObservedSeconds)) return std::nullopt;
  return Shares{std::max(0.0, busy - own) / all, std::max(0.0, stolen) / all,
                share_waited(before, after)};
}

std::string waiting_text(const Shares& shares) {
  if (!shares.waited) return "";
  if (*shares.waited < 0.001) return "; this one did not wait for a processor";
  return fmt::format("; this one waited {:.2g} % of its time for a processor",
                     100 * *shares.waited);
}

// Load on other processors disturbs a measurement far less than load on its own.
MaybeWarning competing_load(const Shares& shares) {
  if (shares.others < kLoadMentioned) return std::nullopt;
  const bool had_to_wait = !shares.waited || *shares.waited >= kWaitNoisy;
  return TimingWarning{"competing-load",
                       fmt::format("other programs used {:.0f} % of all processor time meanwhile{}",
                                   100 * shares.others, waiting_text(shares)),
                       "close other programs and measure again",
                       shares.others >= kLoadNoisy && had_to_wait};
}

MaybeWarning steal_time(const Shares& shares) {
  if (shares.stolen < kStealMentioned) return std::nullopt;
  return TimingWarning{"steal-time",
                       fmt::format("the hypervisor took {:.1f} % of all processor time meanwhile",
                                   100 * shares.stolen),
                       "measure on a dedicated machine, or several times over the day",
                       shares.stolen >= kStealNoisy};
}

bool has(const std::vector<TimingWarning>& warnings, std::string_view wanted) {
  return std::any_of(warnings.begin(), warnings.end(),
                     [&](const TimingWarning& warning) { return warning.name == wanted; });
}

}  // namespace

std::vector<TimingWarning> timing::find_warnings(const Measurement& measured,
                                                 const Circumstances& circumstances) {
  std::vector<TimingWarning> warnings;
  const auto add_found = [&](auto rule) {
    if (auto warning = rule(measured, circumstances)) warnings.push_back(std::move(*warning));
  };
  add_found(few_samples);
  add_found(wide_interval);
  add_found(unsteady);
  // A level change also makes two modes, and so do bursts; one warning is enough.
  if (!has(warnings, "level-change")) add_found(two_modes);
  if (!has(warnings, "level-change") && !has(warnings, "bimodal")) add_found(few_bursts);
  add_found(first_run);
  add_found(clock_resolution);
  std::ranges::move(disturbances(circumstances.before, circumstances.after),
                    std::back_inserter(warnings));
  return warnings;
}

std::vector<TimingWarning> disturbances(const std::optional<MachineTimes>& before,
                                        const std::optional<MachineTimes>& after) {
  if (!before || !after) return {};
  std::vector<TimingWarning> warnings = board_warnings(*before, *after);
  std::ranges::move(gpu_warnings(*before, *after), std::back_inserter(warnings));
  const auto shares = shares_of_machine(*before, *after);
  if (!shares) return warnings;
  if (auto warning = competing_load(*shares)) warnings.push_back(std::move(*warning));
  if (auto warning = steal_time(*shares)) warnings.push_back(std::move(*warning));
  return warnings;
}

}  // namespace assay
