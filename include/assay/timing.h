// Measures how long work takes, with confidence intervals and warnings.
//
// Warm-up lasts until times are steady, sampling until the 95 % interval of the median is narrow
// enough or a budget ends. Every sample is kept; outliers are flagged, never dropped; each problem
// is a named warning with advice.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/progress.h"

namespace assay {

struct TimingOptions {
  double target = 0.01;       // half width of the median's 95 % interval, relative to the median
  double min_seconds = 0.5;   // of sampling
  double max_seconds = 10.0;  // of sampling; at least one sample is taken whatever it costs
  std::size_t min_samples = 10;
  std::size_t max_samples = 100'000;
  std::optional<std::size_t> fixed_warmup = {};   // N warm-up runs instead of "until steady"
  std::optional<std::size_t> fixed_samples = {};  // N samples of one run each
};

enum class Verdict { Valid, Noisy };
std::string_view name(Verdict verdict);  // "VALID", "NOISY"

struct TimingWarning {
  // "few-samples", "wide-interval", "drift", "level-change", "bimodal", "bursts", "first-run",
  // "clock-resolution", "competing-load", "steal-time", "under-voltage", "throttling",
  // "power-limit", "shared-gpu" or "steps-apart".
  std::string name;
  std::string message;  // what was seen, with figures
  std::string advice;
  bool makes_noisy = false;  // a reason for the verdict NOISY
};

// All in milliseconds for one run. A tail is missing unless five samples are expected beyond it:
// p90 needs 50 samples, p95 100, p99 500. Where a sample holds several runs, the tails are those of
// the samples, not of single runs.
struct LatencySummary {
  double median_ms = 0;
  double mean_ms = 0;
  double std_ms = 0;
  double min_ms = 0;
  double max_ms = 0;
  std::optional<double> p90_ms = {};
  std::optional<double> p95_ms = {};
  std::optional<double> p99_ms = {};
  // The 95 % interval of the median. From 2 to 5 samples just the smallest and the largest; one has
  // none.
  std::optional<double> ci95_low_ms = {};
  std::optional<double> ci95_high_ms = {};
};

struct Measurement {
  LatencySummary latency;
  std::vector<double> samples_ms;     // in the order taken; one run's share of each sample
  std::vector<std::size_t> outliers;  // positions in samples_ms, by modified z-score
  std::size_t runs_per_sample = 1;    // more than one where a run is too short for the clock
  std::size_t warmup_runs = 0;
  std::optional<double> first_run_ms = {};
  Verdict verdict = Verdict::Valid;
  std::vector<TimingWarning> warnings;
  std::string unmet = "";  // the criterion that was not met when the budget ended; empty if met
  bool cancelled = false;  // stopped early by Progress; what was measured is kept
};

// A clock: replaced in tests.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t nanoseconds() = 0;
};
Clock& steady_clock();

// A GPU as its driver describes it; missing is what this driver or device does not tell.
struct GpuState {
  std::optional<int> clock_mhz = {};      // of its multiprocessors, now
  std::optional<int> top_clock_mhz = {};  // the highest they can have
  std::optional<int> memory_clock_mhz = {};
  std::optional<double> watts = {};
  std::optional<double> most_watts = {};  // that it is allowed
  std::optional<int> celsius = {};
  // Seconds, since some fixed moment, in which its clocks were lower than they could be.
  std::optional<double> power_limited_seconds = {};
  std::optional<double> heat_limited_seconds = {};
  // Processes that use it; missing where the driver hides them.
  std::optional<int> processes = {};
};

// Processor time since some fixed moment, summed over all processors.
struct MachineTimes {
  double busy_seconds = 0;  // spent on anything, this process included
  double idle_seconds = 0;
  double stolen_seconds = 0;  // a hypervisor ran something else
  double own_seconds = 0;     // spent on this process
  // Threads of this process were ready to run, but something else ran; missing where the system
  // does not count it.
  std::optional<double> waited_seconds = {};
  // A Raspberry Pi's flags of under-voltage and throttling, as `vcgencmd get_throttled` prints
  // them; missing on other machines.
  std::optional<std::uint32_t> throttled = {};
  std::optional<GpuState> gpu = {};  // that the work runs on, if it does
};

// Load on the machine during a measurement: replaced in tests.
class MachineState {
 public:
  virtual ~MachineState() = default;
  virtual std::optional<MachineTimes> times() = 0;  // nothing if not available
};
MachineState& this_machine();  // reads /proc/stat

// "competing-load" and "steal-time", where other load between these moments was high enough to
// matter, unless the interval was too short; "under-voltage" and "throttling", where the board
// reported them; "throttling", "power-limit" and "shared-gpu", where the GPU's driver did. Nothing
// if the times are not available.
std::vector<TimingWarning> disturbances(const std::optional<MachineTimes>& before,
                                        const std::optional<MachineTimes>& after);

// `work(runs)` performs that many runs back to back. `after_sample`, if given, is called outside
// the timed region after every sample that counts.
struct TimedWork {
  std::function<void(std::size_t runs)> work;
  std::function<void()> after_sample = {};
  // What the very first run took, where it was before this measurement.
  std::optional<double> first_run_ms = {};
};
// What `timed` throws is passed on. An Error of kind Usage names an option out of range.
Measurement measure(const TimedWork& timed, const TimingOptions& options = {},
                    Progress* progress = nullptr, Clock& clock = steady_clock(),
                    MachineState& machine = this_machine());

// The same summary and warnings for samples that were taken elsewhere, one run each; at least one.
Measurement summarize_samples(std::vector<double> samples_ms, double target = 0.01);

}  // namespace assay
