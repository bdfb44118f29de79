#include <algorithm>
#include <cmath>

#include "assay/timing.h"
#include "base/fail.h"
#include "base/text.h"
#include "stats/order_statistics.h"
#include "timing/sampling.h"
#include "timing/warm_up.h"
#include "timing/warnings.h"

namespace assay {

using namespace assay::timing;

namespace {

void check(const TimedWork& timed, const TimingOptions& options) {
  if (!timed.work) fail_usage("there is no work to measure");
  if (!(options.target > 0)) {
    fail_usage("target {}: the interval's half width must be above 0", options.target);
  }
  const bool times_are_sound =
      options.min_seconds >= 0 && options.max_seconds >= 0 && std::isfinite(options.max_seconds);
  if (!times_are_sound) {
    fail_usage("min_seconds {} and max_seconds {} must be 0 or more", options.min_seconds,
               options.max_seconds);
  }
  const bool no_samples = options.max_samples == 0 || options.fixed_samples == 0u;
  if (no_samples) fail_usage("0 samples: at least one is needed");
}

LatencySummary summarize(std::span<const double> samples_ms,
                         const stats::MedianEstimate& estimate) {
  const auto ascending = stats::sorted(samples_ms);
  const auto [mean, standard_deviation] = stats::moments(ascending);
  LatencySummary latency;
  latency.median_ms = estimate.median;
  latency.mean_ms = mean;
  latency.std_ms = standard_deviation;
  latency.min_ms = ascending.front();
  latency.max_ms = ascending.back();
  latency.p90_ms = stats::tail_of_sorted(ascending, 0.90);
  latency.p95_ms = stats::tail_of_sorted(ascending, 0.95);
  latency.p99_ms = stats::tail_of_sorted(ascending, 0.99);
  if (ascending.size() > 1) {
    latency.ci95_low_ms = estimate.ci95.low;
    latency.ci95_high_ms = estimate.ci95.high;
  }
  return latency;
}

std::size_t choose_runs_per_sample(const WarmUp& warm, const TimingOptions& options,
                                   const ClockQuality& quality) {
  const bool nothing_known = !(warm.run_ns > 0);
  if (options.fixed_samples || nothing_known) return 1;
  return runs_needed(quality, warm.run_ns);
}

Measurement cancelled_in_warm_up(Measurement measured) {
  measured.cancelled = true;
  measured.unmet = "cancelled before the first sample";
  measured.verdict = Verdict::Noisy;
  return measured;
}

void judge(Measurement& measured, const Circumstances& circumstances) {
  measured.warnings = find_warnings(measured, circumstances);
  const bool noisy = std::any_of(measured.warnings.begin(), measured.warnings.end(),
                                 [](const TimingWarning& warning) { return warning.makes_noisy; });
  measured.verdict = noisy ? Verdict::Noisy : Verdict::Valid;
}

}  // namespace

std::string_view name(Verdict verdict) {
  return verdict == Verdict::Valid ? "VALID" : "NOISY";
}

Measurement measure(const TimedWork& timed, const TimingOptions& options, Progress* progress,
                    Clock& clock, MachineState& machine) {
  check(timed, options);
  Progress silent;
  Progress& listener = progress ? *progress : silent;
  Circumstances circumstances;
  circumstances.target = options.target;
  circumstances.clock = probe(clock);

  const WarmUp warm = warm_up(timed, options, circumstances.clock, listener, clock);
  Measurement measured;
  measured.warmup_runs = warm.runs;
  measured.runs_per_sample = choose_runs_per_sample(warm, options, circumstances.clock);
  if (warm.first_run_ns) measured.first_run_ms = *warm.first_run_ns / 1e6;
  if (timed.first_run_ms) measured.first_run_ms = timed.first_run_ms;
  if (warm.cancelled) return cancelled_in_warm_up(std::move(measured));

  circumstances.before = machine.times();
  Sampling sampling = take_samples(timed, options, measured.runs_per_sample, listener, clock);
  circumstances.after = machine.times();

  circumstances.effective_samples = sampling.estimate.effective_samples;
  circumstances.first_run_is_a_sample = !measured.first_run_ms;
  if (circumstances.first_run_is_a_sample) measured.first_run_ms = sampling.samples_ms.front();
  measured.latency = summarize(sampling.samples_ms, sampling.estimate);
  measured.outliers = stats::outliers(sampling.samples_ms);
  measured.samples_ms = std::move(sampling.samples_ms);
  measured.unmet = std::move(sampling.unmet);
  measured.cancelled = sampling.cancelled;
  judge(measured, circumstances);
  return measured;
}

Measurement summarize_samples(std::vector<double> samples_ms, double target) {
  if (samples_ms.empty()) fail_usage("0 samples: at least one is needed");
  const stats::MedianEstimate estimate = stats::estimate_median(samples_ms);
  Measurement measured;
  measured.latency = summarize(samples_ms, estimate);
  measured.outliers = stats::outliers(samples_ms);
  const bool is_wide = samples_ms.size() > 1 && estimate.relative_error > target;
  if (is_wide) {
    measured.unmet = fmt::format(
        "the interval is {}, target ±{:.2g} %",
        interval_text(estimate.median, estimate.ci95.low, estimate.ci95.high), 100 * target);
  }
  measured.samples_ms = std::move(samples_ms);
  judge(measured, {.target = target, .effective_samples = estimate.effective_samples});
  return measured;
}

}  // namespace assay
