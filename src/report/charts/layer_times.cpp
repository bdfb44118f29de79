// How long each layer of a profile takes, as bars.
#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "assay/profile_report.h"
#include "base/text.h"
#include "report/charts/bar_chart.h"
#include "report/charts/chart_title.h"
#include "report/charts/palette.h"
#include "report/display_names.h"
#include "report/figures.h"
#include "report/profile_rows.h"

namespace assay {

using namespace assay::report;

namespace {

constexpr std::size_t kMostTimes = 60;  // bars on one page; the others share one

enum Kind : std::size_t { kCompute, kMemory, kOverhead, kOther };

std::vector<BarKind> time_kinds() {
  return {{"bound by arithmetic", palette::kBlue},
          {"bound by memory", palette::kOrange},
          {"overhead", palette::kPurple},
          {"other", palette::kFrame}};
}

Kind kind_of(const ProfileLayer& layer) {
  if (!layer.rates.bound) return kOther;
  switch (*layer.rates.bound) {
    case Bound::Compute:
      return kCompute;
    case Bound::Memory:
      return kMemory;
    case Bound::Overhead:
      break;
  }
  return kOverhead;
}

// The slowest layers, in the order they run.
std::vector<const ProfileLayer*> slowest(const Profile& profile) {
  std::vector<const ProfileLayer*> layers;
  for (const ProfileLayer& layer : profile.layers) {
    if (layer.time_ms) layers.push_back(&layer);
  }
  if (layers.size() <= kMostTimes) return layers;
  auto by_time = layers;
  const auto time = [](const ProfileLayer* layer) { return *layer->time_ms; };
  std::ranges::nth_element(by_time, by_time.begin() + kMostTimes, std::greater<>{}, time);
  const double least = *by_time[kMostTimes]->time_ms;
  std::erase_if(layers, [&](const ProfileLayer* layer) { return *layer->time_ms <= least; });
  return layers;
}

std::string time_figure(double ms, double run_ms, TimeUnit unit) {
  return fmt::format("{} {}   {}", time_in(unit, ms), unit.name,
                     percent_text(run_ms > 0 ? ms / run_ms : 0));
}

// Kinds that no bar has are left out of the key.
void drop_unused_kinds(BarChart& chart) {
  std::vector<BarKind> used;
  for (std::size_t kind = 0; kind < chart.kinds.size(); ++kind) {
    const auto is_it = [&](const Bar& bar) { return bar.kind == kind; };
    if (std::ranges::none_of(chart.bars, is_it)) continue;
    for (Bar& bar : chart.bars) {
      if (bar.kind == kind) bar.kind = used.size();
    }
    used.push_back(chart.kinds[kind]);
  }
  chart.kinds = std::move(used);
}

BarChart layer_times_chart(const Profile& profile) {
  const double run_ms = profile.run_ms();
  const auto shown = slowest(profile);
  double largest = 0;
  for (const ProfileLayer* layer : shown) largest = std::max(largest, *layer->time_ms);
  const TimeUnit unit = time_unit(largest);
  BarChart chart{
      .title = chart_title(profile.model.name, "time per layer"),
      .subtitle = fmt::format("batch {}, {}; {} a run, in the order of execution", profile.batch,
                              team_text(profile.program.cpu.threads), duration_text(run_ms)),
      .bars = {},
      .kinds = time_kinds()};
  const DisplayNames names = display_names(profile);
  double rest = run_ms;
  for (const ProfileLayer* layer : shown) {
    chart.bars.push_back({names.of(layer->cost.name), *layer->time_ms,
                          time_figure(*layer->time_ms, run_ms, unit), kind_of(*layer)});
    rest -= *layer->time_ms;
  }
  const auto timed = std::ranges::count_if(
      profile.layers, [](const ProfileLayer& layer) { return layer.time_ms.has_value(); });
  const auto others = timed - static_cast<std::ptrdiff_t>(shown.size());
  rest = std::max(rest, 0.0);
  chart.bars.push_back({others > 0 ? fmt::format("({} other layers, between steps)", others)
                                   : between_steps_name(profile),
                        rest, time_figure(rest, run_ms, unit), kOther});
  drop_unused_kinds(chart);
  return chart;
}

}  // namespace

std::string layer_times_png(const Profile& profile) {
  return bar_chart_png(layer_times_chart(profile));
}

std::string layer_times_svg(const Profile& profile) {
  return bar_chart_svg(layer_times_chart(profile));
}

}  // namespace assay
