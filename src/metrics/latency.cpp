#include "assay/latency.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "assay/error.h"
#include "assay/timing.h"
#include "base/fail.h"
#include "profile/compiled_model.h"
#include "profile/observe.h"
#include "stats/order_statistics.h"

namespace assay {

namespace {

Measurement measured(Program& program, std::size_t num_runs, std::size_t warmup) {
  if (num_runs == 0) fail_usage("num_runs is 0: nothing would be measured");
  return measure({.work = profile::runs_of(program)},
                 {.fixed_warmup = warmup, .fixed_samples = num_runs});
}

// The 97.5 % quantile of Student's t for 1, 2, … degrees of freedom; beyond, it is nearly normal.
double student_t(std::size_t degrees) {
  constexpr std::array<double, 30> kQuantiles = {
      12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
      2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
      2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  constexpr double kNormal = 1.960;
  return degrees == 0 || degrees > kQuantiles.size() ? kNormal : kQuantiles[degrees - 1];
}

LatencyDistribution distribution_of(std::vector<double> means, std::vector<double> samples) {
  const auto ascending = stats::sorted(means);
  const double median_ms = stats::median(means);
  const stats::Moments spread = stats::moments(means);
  const auto count = static_cast<double>(means.size());
  const double half = student_t(means.size() - 1) * spread.standard_deviation / std::sqrt(count);
  return {.mean_ms = spread.mean,
          .std_ms = spread.standard_deviation,
          .p95_ms = stats::quantile_of_sorted(ascending, 0.95),
          .median_ms = median_ms,
          .min_ms = ascending.front(),
          .max_ms = ascending.back(),
          .ci95_low_ms = spread.mean - half,
          .ci95_high_ms = spread.mean + half,
          .repeat_means_ms = std::move(means),
          .samples_ms = std::move(samples)};
}

}  // namespace

double measure_latency(const Graph& model, const ModelInputs& input, std::size_t num_runs,
                       std::size_t warmup, const ProgramOptions& options) {
  const auto program = profile::compiled_for(model, input, options);
  return measured(*program, num_runs, warmup).latency.mean_ms;
}

LatencyDistribution measure_latency_distribution(const Graph& model, const ModelInputs& input,
                                                 std::size_t repeats, std::size_t num_runs,
                                                 std::size_t warmup, const ProgramOptions& options,
                                                 Progress* progress) {
  if (repeats == 0) fail_usage("repeats is 0: nothing would be measured");
  const auto program = profile::compiled_for(model, input, options);
  std::vector<double> means;
  std::vector<double> samples;
  Progress silent;
  Progress& listener = progress != nullptr ? *progress : silent;
  for (std::size_t i = 0; i < repeats; ++i) {
    if (listener.cancelled()) throw Error(ErrorKind::Cancelled, "cancelled while timing the model");
    listener.report(static_cast<double>(i) / static_cast<double>(repeats), "timing");
    const Measurement repeat = measured(*program, num_runs, warmup);
    means.push_back(repeat.latency.mean_ms);
    samples.insert(samples.end(), repeat.samples_ms.begin(), repeat.samples_ms.end());
  }
  return distribution_of(std::move(means), std::move(samples));
}

}  // namespace assay
