#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "assay/fit.h"
#include "base/fail.h"
#include "base/megabytes.h"
#include "base/text.h"
#include "profile/fit/efficiency.h"
#include "profile/prepared.h"

namespace assay {

using namespace assay::profile;

namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Of a datasheet's bandwidth, edge boards really reach 43 to 79 %.
struct ReachedBandwidth {
  double low = 0.43;
  double likely = 0.61;
  double high = 0.79;
};
constexpr ReachedBandwidth kOfDatasheet = {};

std::optional<DataType> stored_type(const std::string& precision) {
  if (precision == "fp32") return {};
  if (precision == "fp16") return DataType::Float16;
  if (precision == "bf16") return DataType::BFloat16;
  if (precision == "int8") return DataType::Int8;
  fail_usage("`precision` {}: expected fp32, fp16, bf16 or int8", precision);
}

double width_factor(const std::optional<DataType>& type) {
  return type ? static_cast<double>(bits(*type)) / 32.0 : 1.0;
}

// --- a device's roofline

std::optional<double> value_of(const Figures& figures) {
  const auto figure = best(figures);
  return figure ? std::optional(figure->value) : std::nullopt;
}

MemoryRoof cache_roof(const DeviceCache& cache, int cores) {
  const double bandwidth = value_of(cache.bandwidth_gbps).value_or(kUnbounded);
  const int there = std::max(1, cores / std::max(1, cache.shared_by.value_or(cores)));
  const double bytes = value_of(cache.bytes).value_or(0) * there;
  return {.level = fmt::format("L{}", cache.level),
          .bytes = static_cast<std::int64_t>(bytes),
          .read_gbps = bandwidth};
}

// `reached` is the share of a theoretical bandwidth that counts; a measured one counts in full.
std::optional<Roofline> roofline_for(const Device& device, const std::string& precision,
                                     double reached, double step_overhead_ms) {
  const auto peak = peak_for(device, precision);
  const auto bandwidth = best(device.memory_bandwidth_gbps);
  if (!peak || !bandwidth) return {};
  const auto cores = static_cast<int>(value_of(device.cores).value_or(1));
  Roofline roofline{.threads = cores,
                    .precision = peak->precision,
                    .peak_gflops = peak->figure.value,
                    .step_overhead_ms = step_overhead_ms};
  for (const DeviceCache& cache : device.caches) {
    roofline.levels.push_back(cache_roof(cache, cores));
  }
  const bool is_measured = bandwidth->provenance == FigureProvenance::Measured;
  const double gbps = bandwidth->value * (is_measured ? 1.0 : reached);
  roofline.levels.push_back({.level = "DRAM", .read_gbps = gbps});
  return with_one_bandwidth(std::move(roofline));
}

// --- times

struct Predictor {
  const std::vector<ClassifiedOperator>& operators;
  const Efficiency& efficiency;
  const Calibration& calibration;
  const std::string& precision;

  std::optional<double> estimate(const Device& device, double reached) const {
    const double overhead =
        value_of(device.step_overhead_us).value_or(1000 * calibration.step_overhead_ms) / 1000;
    const auto roofline = roofline_for(device, precision, reached, overhead);
    if (!roofline) return {};
    return estimated_ms(operators, *roofline, efficiency);
  }

  void predict(const Device& device, DeviceFit& fit) const {
    if (const auto roofline = roofline_for(device, precision, 1.0, 0)) {
      fit.precision = roofline->precision;
      fit.bound_ms = bound_ms(operators, *roofline);
    }
    const double wide = 1 + calibration.wide_error();
    fit.estimate_ms = estimate(device, kOfDatasheet.likely);
    const auto fast = estimate(device, kOfDatasheet.high);
    const auto slow = estimate(device, kOfDatasheet.low);
    if (fast) fit.estimate_low_ms = std::max(*fast / wide, fit.bound_ms.value_or(0));
    if (slow) fit.estimate_high_ms = *slow * wide;
    // Where an algorithm needs fewer operations than are counted, the bound may exceed the
    // estimate.
    if (fit.estimate_ms) fit.estimate_ms = std::max(*fit.estimate_ms, fit.bound_ms.value_or(0));
  }
};

// --- verdicts

struct Finding {
  FitVerdict verdict = FitVerdict::Fits;
  std::string reason = "";
};

// A device's own programs need memory too.
constexpr double kComfortable = 0.7;

Finding memory_finding(double bytes, std::optional<double> available, const std::string& what,
                       const std::string& where) {
  if (!available) return {FitVerdict::Unknown, fmt::format("its {} is not known", where)};
  const std::string figures = fmt::format("{}{} of {} {}", with_binary_unit(bytes), what,
                                          with_binary_unit(*available), where);
  if (bytes > *available) return {FitVerdict::DoesNotFit, "needs " + figures};
  if (bytes > kComfortable * *available) return {FitVerdict::Tight, "takes " + figures};
  return {FitVerdict::Fits, "takes " + figures};
}

// Weights of a microcontroller stay in its flash memory.
std::vector<Finding> memory_findings(const Device& device, const FitReport& report) {
  const auto memory = value_of(device.memory_bytes);
  const auto weights = static_cast<double>(report.weight_bytes);
  const auto activations = static_cast<double>(report.activation_bytes);
  if (const auto flash = value_of(device.flash_bytes)) {
    return {memory_finding(weights, flash, " for weights", "flash"),
            memory_finding(activations, memory, " for activations", "memory")};
  }
  return {memory_finding(weights + activations, memory, "", "memory")};
}

std::optional<Finding> time_finding(const DeviceFit& fit, const FitLimits& limits) {
  if (!limits.max_ms) return {};
  if (!fit.estimate_ms) return Finding{FitVerdict::Unknown, "its time cannot be estimated"};
  const std::string limit = fmt::format("{:g} ms allowed", *limits.max_ms);
  if (*fit.bound_ms > *limits.max_ms) {
    return Finding{FitVerdict::DoesNotFit,
                   fmt::format("no engine can do it below {:.3g} ms, {}", *fit.bound_ms, limit)};
  }
  if (*fit.estimate_ms > *limits.max_ms) {
    return Finding{FitVerdict::DoesNotFit,
                   fmt::format("takes about {:.3g} ms, {}", *fit.estimate_ms, limit)};
  }
  const bool may_be_late = *fit.estimate_high_ms > *limits.max_ms;
  return Finding{may_be_late ? FitVerdict::Tight : FitVerdict::Fits,
                 fmt::format("takes about {:.3g} ms, perhaps {:.3g}; {}", *fit.estimate_ms,
                             *fit.estimate_high_ms, limit)};
}

std::optional<Finding> size_finding(const FitReport& report) {
  if (!report.limits.max_mb) return {};
  const double need = in_mb(report.need_bytes());
  if (need <= *report.limits.max_mb) return {};
  return Finding{FitVerdict::DoesNotFit,
                 fmt::format("needs {:.3g} MB, {:g} allowed", need, *report.limits.max_mb)};
}

std::optional<Finding> power_finding(const DeviceFit& fit, const FitLimits& limits) {
  if (!limits.max_watts) return {};
  if (!fit.power_watts) return Finding{FitVerdict::Unknown, "its power is not known"};
  if (*fit.power_watts <= *limits.max_watts) return {};
  return Finding{FitVerdict::DoesNotFit,
                 fmt::format("draws {:g} W, {:g} allowed", *fit.power_watts, *limits.max_watts)};
}

// The worst decides: what does not fit, then what is not known, then what is tight.
int severity(FitVerdict verdict) {
  switch (verdict) {
    case FitVerdict::Fits:
      return 0;
    case FitVerdict::Tight:
      return 1;
    case FitVerdict::Unknown:
      return 2;
    case FitVerdict::DoesNotFit:
      return 3;
  }
  return 3;
}

void decide(const Device& device, const FitReport& report, DeviceFit& fit) {
  std::vector<Finding> findings = memory_findings(device, report);
  for (const auto& more : {time_finding(fit, report.limits), size_finding(report),
                           power_finding(fit, report.limits)}) {
    if (more) findings.push_back(*more);
  }
  const auto worst = std::ranges::max_element(
      findings, {}, [](const Finding& finding) { return severity(finding.verdict); });
  fit.verdict = worst->verdict;
  fit.reason = worst->reason;
}

DeviceFit fit_on(const Device& device, const Predictor& predictor, const FitReport& report) {
  DeviceFit fit{.id = device.id, .name = device.name};
  fit.memory_bytes = value_of(device.memory_bytes);
  fit.power_watts = value_of(device.power_watts);
  predictor.predict(device, fit);
  if (fit.power_watts && fit.estimate_ms) {
    fit.energy_proxy_j = *fit.power_watts * *fit.estimate_ms / 1000;
  }
  decide(device, report, fit);
  return fit;
}

void check_limit(const char* name, const std::optional<double>& limit) {
  if (limit && (!std::isfinite(*limit) || *limit <= 0)) {
    fail_usage("{} {}: expected a number above 0", name, *limit);
  }
}

}  // namespace

std::string_view name(FitVerdict verdict) {
  switch (verdict) {
    case FitVerdict::Fits:
      return "fits";
    case FitVerdict::Tight:
      return "tight";
    case FitVerdict::DoesNotFit:
      return "does not fit";
    case FitVerdict::Unknown:
      return "unknown";
  }
  return "unknown";
}

FitReport fit_model(Graph graph, std::string name, const std::vector<Device>& devices,
                    const Calibration& calibration, const FitOptions& options) {
  check_limit("`max_ms`", options.limits.max_ms);
  check_limit("`max_mb`", options.limits.max_mb);
  check_limit("`max_watts`", options.limits.max_watts);
  CountOptions count = options.count;
  count.stored_as = stored_type(options.precision);
  Prepared prepared = prepare_model(std::move(graph), std::move(name), count);
  FitReport report{.model = std::move(prepared.model),
                   .batch = prepared.batch,
                   .precision = options.precision,
                   .weight_bytes = prepared.stored_bytes,
                   .activation_bytes = prepared.plan.arena_bytes,
                   .limits = options.limits,
                   .median_error = calibration.median_error(),
                   .wide_error = calibration.wide_error(),
                   .warnings = std::move(prepared.warnings)};
  const auto operators = classified_operators(std::move(prepared.inferred),
                                              {.width_factor = width_factor(count.stored_as)});
  const Efficiency efficiency(calibration.samples);
  const Predictor predictor{operators, efficiency, calibration, report.precision};
  for (const Device& device : devices) {
    report.devices.push_back(fit_on(device, predictor, report));
  }
  return report;
}

}  // namespace assay
