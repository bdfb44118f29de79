// The table of metrics of two models, from which every format is made.
#include "report/compare_metrics.h"

#include <algorithm>
#include <cmath>

#include "assay/compare_report.h"
#include "base/fail.h"
#include "base/megabytes.h"
#include "base/text.h"
#include "report/figures.h"

namespace assay {

using namespace assay::report;

double report::middle_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

namespace {

ComparedMetric exact_metric(std::string name, std::optional<double> a, std::optional<double> b) {
  return {.name = std::move(name), .a = a, .b = b, .is_exact = true};
}

ComparedMetric counted(std::string name, std::int64_t a, std::int64_t b) {
  return exact_metric(std::move(name), static_cast<double>(a), static_cast<double>(b));
}

ComparedMetric megabytes(std::string name, std::int64_t a, std::int64_t b) {
  return exact_metric(std::move(name), in_mb(a), in_mb(b));
}

// A value of each process, in pairs.
ComparedMetric paired_metric(std::string name, const std::vector<double>& a,
                             const std::vector<double>& b) {
  ComparedMetric metric{.name = std::move(name)};
  if (a.empty() || b.empty()) return metric;
  metric.a = middle_of(a);
  metric.b = middle_of(b);
  metric.ratio_estimate = paired_ratio(a, b);
  return metric;
}

double tail_of(std::vector<double> values) {
  std::ranges::sort(values);
  const double position = 0.95 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (position - std::floor(position)) * (values[above] - values[below]);
}

// Of all samples together; nothing if they are too few to have a 95th percentile.
std::optional<double> tail_of_all(const std::vector<ProcessSamples>& processes) {
  constexpr std::size_t kFewestForTail = 20;
  std::vector<double> all;
  for (const auto& process : processes) {
    all.insert(all.end(), process.values.begin(), process.values.end());
  }
  return all.size() < kFewestForTail ? std::nullopt : std::optional(tail_of(std::move(all)));
}

std::vector<double> tails_of(const std::vector<ProcessSamples>& processes) {
  std::vector<double> tails;
  for (const auto& process : processes) tails.push_back(tail_of(process.values));
  return tails;
}

// The ratio is from the processes in pairs: what is common to both cancels.
ComparedMetric tail_metric(const ComparedSide& a, const ComparedSide& b) {
  return {.name = "p95",
          .a = tail_of_all(a.processes),
          .b = tail_of_all(b.processes),
          .ratio_estimate = paired_ratio(tails_of(a.processes), tails_of(b.processes))};
}

ComparedMetric latency_metric(const Comparison& result) {
  return {.name = "latency",
          .a = result.median_a,
          .b = result.median_b,
          .b_ci95 = result.median_b_ci95,
          .ratio_estimate = RatioEstimate{result.ratio, {result.ci95_low, result.ci95_high}}};
}

// What is proportional to the latency, such as an energy.
ComparedMetric times_latency(std::string name, const ComparedMetric& latency, double factor) {
  const auto scaled = [&](const ValueRange& range) {
    return ValueRange{factor * range.low, factor * range.high};
  };
  return {.name = std::move(name),
          .a = factor * *latency.a,
          .b = factor * *latency.b,
          .b_ci95 = scaled(*latency.b_ci95),
          .ratio_estimate = latency.ratio_estimate};
}

// An amount of work for each millisecond.
ComparedMetric per_latency(std::string name, const ComparedMetric& latency, double work_a,
                           double work_b) {
  ComparedMetric metric{
      .name = std::move(name),
      .a = work_a / *latency.a,
      .b = work_b / *latency.b,
      .b_ci95 = ValueRange{work_b / latency.b_ci95->high, work_b / latency.b_ci95->low}};
  if (work_a <= 0) return metric;
  const double more_work = work_b / work_a;
  const auto& [ratio, ci95] = *latency.ratio_estimate;
  metric.ratio_estimate =
      RatioEstimate{more_work / ratio, {more_work / ci95.high, more_work / ci95.low}};
  return metric;
}

void add_rates(const ModelComparison& comparison, const ComparedMetric& latency,
               std::vector<ComparedMetric>& metrics) {
  const StoredProfile& a = comparison.a.profile;
  const StoredProfile& b = comparison.b.profile;
  metrics.push_back(per_latency("throughput", latency, 1e3 * static_cast<double>(a.batch),
                                1e3 * static_cast<double>(b.batch)));
  if (!a.estimated_total_bytes || !b.estimated_total_bytes) return;
  constexpr double kGigabytesPerSecond = 1e-6;  // of one byte per millisecond
  metrics.push_back(per_latency(
      "bandwidth", latency, kGigabytesPerSecond * static_cast<double>(*a.estimated_total_bytes),
      kGigabytesPerSecond * static_cast<double>(*b.estimated_total_bytes)));
}

void add_memory(const ModelComparison& comparison, std::vector<ComparedMetric>& metrics) {
  const StoredProfile& a = comparison.a.profile;
  const StoredProfile& b = comparison.b.profile;
  metrics.push_back(megabytes("memory_mb", a.stored_bytes, b.stored_bytes));
  metrics.push_back(megabytes("runtime_memory_mb", a.stored_bytes + a.peak_activation_bytes,
                              b.stored_bytes + b.peak_activation_bytes));
  metrics.push_back(megabytes("peak_memory_mb", a.peak_memory_bytes, b.peak_memory_bytes));
  metrics.push_back(paired_metric("process_memory_mb", comparison.a.process_memory_mb,
                                  comparison.b.process_memory_mb));
}

void add_counts(const ModelComparison& comparison, std::vector<ComparedMetric>& metrics) {
  const StoredProfile& a = comparison.a.profile;
  const StoredProfile& b = comparison.b.profile;
  metrics.push_back(counted("parameters", a.parameters, b.parameters));
  metrics.push_back(counted("macs", a.macs, b.macs));
  metrics.push_back(counted("flops", a.flops, b.flops));
  if (!a.estimated_total_bytes || !b.estimated_total_bytes) return;
  metrics.push_back(counted("bytes", *a.estimated_total_bytes, *b.estimated_total_bytes));
}

void add_energy(const ModelComparison& comparison, const ComparedMetric& latency,
                std::vector<ComparedMetric>& metrics) {
  if (comparison.power_watts) {
    metrics.push_back(times_latency("energy", latency, *comparison.power_watts / 1e3));
    return;
  }
  metrics.push_back(
      {.name = "energy", .a = comparison.a.profile.energy_j, .b = comparison.b.profile.energy_j});
}

std::string profile_setting(const StoredProfile& profile) {
  return fmt::format("batch {}, {}", profile.batch, team_text(profile.threads));
}

std::string how_compared(const ModelComparison& comparison) {
  const std::size_t pairs = comparison.result.pairs;
  const std::string noise =
      fmt::format("a change within ±{:g} % is noise", 100 * comparison.threshold);
  if (!comparison.interleaved) return "from stored samples, not run in turn; " + noise;
  const std::string again = join(comparison.measured_again, " and ");
  return fmt::format("{} {} of fresh processes, run in turn{}; {}{}", pairs,
                     pairs == 1 ? "pair" : "pairs",
                     again.empty() ? "" : "; " + again + " of stored profiles, measured again",
                     noise, comparison.interrupted ? "; interrupted" : "");
}

}  // namespace

std::vector<ComparedMetric> compared_metrics(const ModelComparison& comparison) {
  const ComparedMetric latency = latency_metric(comparison.result);
  std::vector<ComparedMetric> metrics = {latency};
  metrics.push_back(tail_metric(comparison.a, comparison.b));
  add_rates(comparison, latency, metrics);
  add_memory(comparison, metrics);
  add_counts(comparison, metrics);
  add_energy(comparison, latency, metrics);
  if (const auto& accuracy = comparison.accuracy) {
    metrics.push_back({.name = "accuracy",
                       .a = accuracy->a,
                       .b = accuracy->b,
                       .b_ci95 = accuracy->b_ci95,
                       .difference_ci95 = accuracy->difference_ci95});
  }
  std::erase_if(metrics, [](const auto& metric) { return !metric.a && !metric.b; });
  return metrics;
}

CompareReport compare_report(ModelComparison comparison) {
  CompareReport report;
  report.a = {comparison.a.profile.model, profile_setting(comparison.a.profile)};
  report.b = {comparison.b.profile.model, profile_setting(comparison.b.profile)};
  report.rows = {{.metrics = compared_metrics(comparison)}};
  report.how = how_compared(comparison);
  report.warnings = comparison.warnings;
  report.models = std::move(comparison);
  return report;
}

}  // namespace assay
