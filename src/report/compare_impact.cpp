#include "report/compare_impact.h"

namespace assay::report {

namespace {

// The comparison does not use the configured bandwidth, so any value will do.
constexpr double kAnyBandwidth = 1;

std::optional<HardwareSummary> summary_of(const StoredProfile& profile, double median_ms) {
  if (!profile.estimated_total_bytes || !profile.estimated_total_macs) return {};
  const LayerEstimate all{.layer = profile.model,
                          .activation_bytes = *profile.estimated_total_bytes,
                          .macs = *profile.estimated_total_macs};
  return summarize_hardware({all}, median_ms, kAnyBandwidth);
}

}  // namespace

std::optional<HardwareImpact> impact_of(const ModelComparison& comparison) {
  const auto before = summary_of(comparison.a.profile, comparison.result.median_a);
  const auto after = summary_of(comparison.b.profile, comparison.result.median_b);
  if (!before || !after) return {};
  return compare_summaries(*before, *after);
}

}  // namespace assay::report
