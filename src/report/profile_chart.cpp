// A profile as a roofline, and as the layers of a hardware summary.
#include <fmt/core.h>

#include <algorithm>

#include "assay/profile_report.h"
#include "base/checked.h"
#include "base/text.h"
#include "report/charts/chart_title.h"
#include "report/display_names.h"
#include "report/figures.h"

namespace assay {

using namespace assay::report;

namespace {

// Layers that execute the same work: repeated blocks of a network.
struct Repeated {
  std::string name;  // of the first
  std::string op;
  std::int64_t flops = 0;  // of one
  std::int64_t bytes = 0;
  std::string bound;
  std::int64_t count = 0;
  double time_ms = 0;  // of all
  double share = 0;

  bool does_the_same_as(const Repeated& other) const {
    return op == other.op && flops == other.flops && bytes == other.bytes && bound == other.bound;
  }
};

Repeated work_of(const ProfileLayer& layer, const std::vector<ProfileStep>& steps,
                 const DisplayNames& names) {
  Repeated work{.name = names.of(layer.cost.name),
                .op = layer.cost.op,
                .bound = layer.rates.bound ? std::string(name(*layer.rates.bound)) : "",
                .count = 1,
                .time_ms = layer.time_ms.value_or(0),
                .share = layer.share};
  for (const std::size_t at : layer.steps) {
    const StepInfo& info = steps[at].info;
    work.flops = saturating_add(work.flops, info.executed_flops);
    work.bytes = saturating_add(work.bytes, saturating_add(info.bytes_read, info.bytes_written));
  }
  return work;
}

// A layer without arithmetic has no point on a roofline.
bool has_a_point(const Repeated& work) {
  return work.time_ms > 0 && work.flops > 0 && work.bytes > 0;
}

std::vector<Repeated> merged_layers(const Profile& profile) {
  std::vector<Repeated> merged;
  const DisplayNames names = display_names(profile);
  for (const ProfileLayer& layer : profile.layers) {
    const Repeated work = work_of(layer, profile.steps, names);
    if (!has_a_point(work)) continue;
    const auto same = [&](const Repeated& other) { return work.does_the_same_as(other); };
    const auto found = std::ranges::find_if(merged, same);
    if (found == merged.end()) {
      merged.push_back(work);
      continue;
    }
    ++found->count;
    found->time_ms += work.time_ms;
    found->share += work.share;
  }
  return merged;
}

// Executed work divided by the bytes that its steps move.
RooflinePoint point_of(const Repeated& work) {
  const auto flops = static_cast<double>(work.flops);
  return {.name = work.count > 1 ? fmt::format("{} ×{}", work.name, work.count) : work.name,
          .intensity = flops / static_cast<double>(work.bytes),
          .gflops = flops * static_cast<double>(work.count) / (work.time_ms * 1e6),
          .time_share = work.share,
          .bound = work.bound};
}

}  // namespace

std::optional<RooflineChart> roofline_chart(const Profile& profile) {
  if (!profile.roofline) return {};
  const Roofline& roofline = *profile.roofline;
  RooflineChart chart;
  chart.title = chart_title(profile.model.name, fmt::format("roofline, batch {}", profile.batch));
  chart.machine = fmt::format("{}{}{}", without_control_characters(roofline.processor),
                              roofline.processor.empty() ? "" : ", ", team_text(roofline.threads));
  chart.peaks = {
      {fmt::format("{} {}", roofline.precision, roofline.instruction_set), roofline.peak_gflops}};
  for (const MemoryRoof& roof : roofline.levels) {
    chart.bandwidths.push_back({roof.level, roof.read_gbps});
  }
  for (const Repeated& work : merged_layers(profile)) chart.points.push_back(point_of(work));
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
