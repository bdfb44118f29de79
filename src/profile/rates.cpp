#include "profile/rates.h"

#include <algorithm>

namespace assay {

namespace {

// Below this share of both ceilings, neither arithmetic nor bytes explain the time.
constexpr double kExplained = 0.1;

// The least time that work could take under each ceiling.
struct LeastTime {
  double compute_ms = 0;
  double memory_ms = 0;
};

std::optional<LeastTime> least_time(double flops, double bytes, const QuickCeiling& ceiling) {
  if (!ceiling.peak_gflops || !ceiling.bandwidth_gbps) return std::nullopt;
  return LeastTime{flops / (*ceiling.peak_gflops * 1e6), bytes / (*ceiling.bandwidth_gbps * 1e6)};
}

void judge(const WorkDone& work, const QuickCeiling& ceiling, Rates& rates) {
  const auto least = least_time(work.executed_flops, work.bytes, ceiling);
  if (!least) return;
  const double reached = std::max(least->compute_ms, least->memory_ms) / work.time_ms;
  rates.percent_of_ceiling = std::min(100.0, 100.0 * reached);
  rates.bound = reached < kExplained                    ? Bound::Overhead
                : least->compute_ms >= least->memory_ms ? Bound::Compute
                                                        : Bound::Memory;
}

}  // namespace

std::string_view name(Bound bound) {
  switch (bound) {
    case Bound::Compute:
      return "compute";
    case Bound::Memory:
      return "memory";
    case Bound::Overhead:
      return "overhead";
  }
  return "overhead";
}

Rates rates_of(const WorkDone& work, const QuickCeiling& ceiling) {
  Rates rates;
  if (work.time_ms <= 0) return rates;
  if (work.nominal_flops && *work.nominal_flops > 0) {
    rates.gflops_per_second = *work.nominal_flops / (work.time_ms * 1e6);
  }
  if (work.bytes > 0) rates.gbytes_per_second = work.bytes / (work.time_ms * 1e6);
  judge(work, ceiling, rates);
  return rates;
}

std::optional<Bound> bottleneck_of(const std::vector<ProfileStep>& steps,
                                   const QuickCeiling& ceiling) {
  double compute_ms = 0;
  double memory_ms = 0;
  for (const ProfileStep& step : steps) {
    const double bytes =
        static_cast<double>(step.info.bytes_read) + static_cast<double>(step.info.bytes_written);
    const auto least = least_time(static_cast<double>(step.info.executed_flops), bytes, ceiling);
    if (!least) return std::nullopt;
    (least->compute_ms >= least->memory_ms ? compute_ms : memory_ms) += step.time_ms;
  }
  if (compute_ms + memory_ms <= 0) return std::nullopt;
  return compute_ms >= memory_ms ? Bound::Compute : Bound::Memory;
}

std::optional<double> efficiency_of(double executed_gflops_per_second,
                                    const QuickCeiling& ceiling) {
  if (!ceiling.peak_gflops || *ceiling.peak_gflops <= 0) return std::nullopt;
  return std::min(1.0, executed_gflops_per_second / *ceiling.peak_gflops);
}

}  // namespace assay
