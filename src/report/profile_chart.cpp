// A profile as a roofline, and as the layers of a hardware summary.
#include <fmt/core.h>

#include "assay/profile_report.h"
#include "base/text.h"

namespace assay {

namespace {

// Executed work divided by the bytes that its steps move.
std::optional<RooflinePoint> point_of(const ProfileLayer& layer,
                                      const std::vector<ProfileStep>& steps) {
  if (!layer.time_ms || *layer.time_ms <= 0) return {};
  double flops = 0;
  double bytes = 0;
  for (const std::size_t at : layer.steps) {
    const StepInfo& info = steps[at].info;
    flops += static_cast<double>(info.executed_flops);
    bytes += static_cast<double>(info.bytes_read) + static_cast<double>(info.bytes_written);
  }
  if (flops <= 0 || bytes <= 0) return {};  // a layer without arithmetic has no point on a roofline
  return RooflinePoint{.name = layer.cost.name,
                       .intensity = flops / bytes,
                       .gflops = flops / (*layer.time_ms * 1e6),
                       .time_share = layer.share,
                       .bound = layer.rates.bound ? std::string(name(*layer.rates.bound)) : ""};
}

}  // namespace

std::optional<RooflineChart> roofline_chart(const Profile& profile) {
  if (!profile.roofline) return {};
  const Roofline& roofline = *profile.roofline;
  RooflineChart chart;
  chart.title = fmt::format("{}, batch {}", profile.model.name, profile.batch);
  chart.machine = fmt::format("{}{}{} {}", without_control_characters(roofline.processor),
                              roofline.processor.empty() ? "" : ", ", roofline.threads,
                              roofline.threads == 1 ? "thread" : "threads");
  chart.peaks = {
      {fmt::format("{} {}", roofline.precision, roofline.instruction_set), roofline.peak_gflops}};
  for (const MemoryRoof& roof : roofline.levels) {
    chart.bandwidths.push_back({roof.level, roof.read_gbps});
  }
  for (const ProfileLayer& layer : profile.layers) {
    if (const auto point = point_of(layer, profile.steps)) chart.points.push_back(*point);
  }
  return chart;
}

std::vector<LayerEstimate> layer_estimates(const Profile& profile) {
  std::vector<LayerEstimate> estimates;
  for (const ProfileLayer& layer : profile.layers) {
    const LayerCost& cost = layer.cost;
    if (cost.parameters == 0 && cost.macs == 0) continue;
    const auto elements = cost.output_shape ? cost.output_shape->elements() : std::nullopt;
    estimates.push_back(
        {cost.name, elements.value_or(0), cost.parameter_bytes, cost.activation_bytes, cost.macs});
  }
  return estimates;
}

}  // namespace assay
