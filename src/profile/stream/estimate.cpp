#include "profile/stream/estimate.h"

#include <algorithm>

#include "profile/stream/sentences.h"

namespace assay::profile {

namespace {

constexpr double kKilobyte = 1024.0;

OperatorProfile priced(const FusedOperator& one, const Roofline& roofline) {
  OperatorProfile row{.operator_name = one.name, .fused = one.fused};
  if (!one.is_known) return row;
  const LeastTime least = least_time(one.work, roofline);
  row.latency_ms = least.limit_ms() + roofline.step_overhead_ms;
  row.memory_kb = one.work.bytes() / kKilobyte;
  const bool is_mostly_overhead = roofline.step_overhead_ms >= least.limit_ms();
  row.bound = is_mostly_overhead ? Bound::Overhead : least.bound();
  if (row.bound == Bound::Memory) row.bound_level = least.level;
  return row;
}

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

double fp32_memory_kb(const Prepared& prepared, const MayJoin& may_join) {
  const CostSheet sheet = count_costs(prepared.inferred, {.stored_as = DataType::Float32});
  double bytes = 0;
  for (const FusedOperator& one : operators_of(prepared.inferred, sheet, may_join)) {
    bytes += one.work.bytes();
  }
  return bytes / kKilobyte;
}

}  // namespace

HardwareProfile estimate_stream(Prepared prepared, double interval_ms, const Roofline& roofline,
                                const MayJoin& may_join) {
  check_stream_interval(interval_ms);
  HardwareProfile profile;
  profile.batch = prepared.batch;
  profile.stream_interval_ms = interval_ms;
  profile.stored_bytes = prepared.stored_bytes;
  profile.activation_bytes = prepared.plan.arena_bytes;
  profile.roofline = roofline;
  for (FusedOperator& one : operators_of(prepared.inferred, prepared.cost, may_join)) {
    one.work.run_bytes = run_bytes(profile);
    profile.operator_profile.push_back(priced(one, roofline));
  }
  profile.totals = totals_of(profile.operator_profile, interval_ms, roofline);
  const double fp32 = fp32_memory_kb(prepared, may_join);
  profile.precision_tradeoffs = {
      .fp32_memory_kb = fp32, .fp16_memory_kb = fp32 * 0.5, .int8_memory_kb = fp32 * 0.25};
  profile.model = std::move(prepared.model);
  profile.warnings = std::move(prepared.warnings);
  profile.precision_tradeoffs.note = precision_note(profile);
  profile.edge_constraints = {cache_sentence(profile), bottleneck_sentence(profile)};
  return profile;
}

bool joins_its_own_operator(const std::string& layer, const std::string& into) {
  return layer.starts_with(into);
}

}  // namespace assay::profile
