#include "profile/stream/estimate.h"

#include <algorithm>

#include "profile/fit/efficiency.h"
#include "profile/stream/forecast.h"
#include "profile/stream/sentences.h"

namespace assay::profile {

namespace {

constexpr double kKilobyte = 1024.0;

// How long operators take on one machine: as calibrated, or at least.
class Pricing {
 public:
  Pricing(const Roofline& roofline, const Calibration* calibration) : roofline_(roofline) {
    if (calibration == nullptr) return;
    roofline_ = with_one_bandwidth(roofline);
    efficiency_.emplace(calibration->samples);
  }

  // Nothing for an unknown operator.
  std::optional<double> time_ms(const ClassifiedOperator& one) const {
    if (efficiency_) return estimated_ms(one, roofline_, *efficiency_);
    if (!one.is_known) return {};
    return least_time(one.work, roofline_).limit_ms();
  }

  // What only moves bytes counts where the engine is known to copy them.
  bool is_run(const ClassifiedOperator& one) const {
    if (!one.is_movement) return true;
    return efficiency_ && time_ms(one).has_value();
  }

  OperatorProfile priced(const ClassifiedOperator& one) const {
    OperatorProfile row{.operator_name = one.name, .fused = one.fused};
    if (!one.is_known) return row;
    const double alone_ms = time_ms(one).value_or(0);
    row.latency_ms = alone_ms + roofline_.step_overhead_ms;
    row.memory_kb = one.work.bytes() / kKilobyte;
    const LeastTime least = least_time(one.work, roofline_);
    row.bound = roofline_.step_overhead_ms >= alone_ms ? Bound::Overhead : least.bound();
    if (row.bound == Bound::Memory) row.bound_level = least.level;
    return row;
  }

 private:
  Roofline roofline_;
  std::optional<Efficiency> efficiency_ = {};
};

StreamTotals totals_of(const std::vector<OperatorProfile>& rows, double interval_ms,
                       const Roofline& roofline) {
  StreamTotals totals;
  for (const OperatorProfile& row : rows) {
    if (!row.latency_ms) continue;
    totals.latency_ms += *row.latency_ms;
    totals.memory_kb += *row.memory_kb;
    totals.overhead_ms += roofline.step_overhead_ms;
  }
  const double seconds = totals.latency_ms / 1000;
  if (seconds > 0) totals.estimated_bandwidth_mb_s = totals.memory_kb / kKilobyte / seconds;
  totals.stream_utilization_uncapped = totals.latency_ms / interval_ms;
  totals.stream_utilization = std::min(1.0, totals.stream_utilization_uncapped);
  return totals;
}

double fp32_memory_kb(const Prepared& prepared, ClassifyOptions operators, const Pricing& pricing) {
  operators.stored_as = DataType::Float32;
  double bytes = 0;
  for (const ClassifiedOperator& one : classified_operators(prepared.inferred, operators)) {
    if (pricing.is_run(one)) bytes += one.work.bytes();
  }
  return bytes / kKilobyte;
}

}  // namespace

HardwareProfile estimate_stream(Prepared prepared, double interval_ms, const Roofline& roofline,
                                const ClassifyOptions& operators, const Calibration* calibration) {
  check_stream_interval(interval_ms);
  HardwareProfile profile;
  profile.batch = prepared.batch;
  profile.stream_interval_ms = interval_ms;
  profile.stored_bytes = prepared.stored_bytes;
  profile.activation_bytes = prepared.plan.arena_bytes;
  profile.roofline = roofline;
  const Pricing pricing(roofline, calibration);
  for (const ClassifiedOperator& one : classified_operators(prepared.inferred, operators)) {
    if (pricing.is_run(one)) profile.operator_profile.push_back(pricing.priced(one));
  }
  profile.totals = totals_of(profile.operator_profile, interval_ms, roofline);
  const double fp32 = fp32_memory_kb(prepared, operators, pricing);
  profile.precision_tradeoffs = {
      .fp32_memory_kb = fp32, .fp16_memory_kb = fp32 * 0.5, .int8_memory_kb = fp32 * 0.25};
  profile.model = std::move(prepared.model);
  profile.warnings = std::move(prepared.warnings);
  profile.precision_tradeoffs.note = precision_note(profile);
  profile.edge_constraints = {cache_sentence(profile), bottleneck_sentence(profile)};
  profile.forecast = forecast_of(profile, calibration);
  return profile;
}

namespace {

bool joins_its_own_operator(const std::string& layer, const std::string& into) {
  return layer.starts_with(into);
}

}  // namespace

ClassifyOptions streaming_operators() {
  return {.as_given = true, .may_join = joins_its_own_operator};
}

}  // namespace assay::profile
