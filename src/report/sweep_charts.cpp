#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/charts/chart_title.h"
#include "report/charts/palette.h"
#include "report/charts/scatter_chart.h"
#include "report/sweep_parts.h"
#include "report/sweep_words.h"

namespace assay {

using namespace assay::report;

namespace {

// What the horizontal axis shows, in a unit that suits it.
struct ChartedCost {
  std::string title = {};
  std::string axis = {};
  double unit = 1;  // the cost's own unit / the axis's
};

double largest_cost(const std::vector<std::optional<double>>& costs) {
  double largest = 0;
  for (const auto& cost : costs) {
    if (cost && std::isfinite(*cost)) largest = std::max(largest, *cost);
  }
  return largest;
}

ChartedCost charted_energy(const SweepRun& run, double largest) {
  const bool is_small = largest < 1e-3;
  const std::string unit = is_small ? "µJ" : largest < 1 ? "mJ" : "J";
  return {"energy",
          fmt::format("energy of a batch, {} ({})", unit,
                      has_measured_energy(run.rows)
                          ? "measured"
                          : fmt::format("proxy: {:g} W × latency", run.config.power_watts)),
          is_small      ? 1e6
          : largest < 1 ? 1e3
                        : 1};
}

ChartedCost charted_cost(const SweepRun& run, ParetoCost cost, double largest) {
  if (cost == ParetoCost::Energy) return charted_energy(run, largest);
  if (cost == ParetoCost::Memory) return {"memory", "stored tensors, MB", 1};
  const TimeUnit unit = time_unit(largest);
  return {"latency", fmt::format("latency of a batch, {}", unit.name), 1 / unit.milliseconds};
}

// The same in every chart, whatever precisions a sweep has.
Colour precision_colour(const std::string& precision) {
  if (precision == "fp32") return palette::kBlue;
  if (precision == "fp16") return palette::kOrange;
  if (precision == "bf16") return palette::kGreen;
  if (precision == "int8") return palette::kVermilion;
  return precision == "tf32" ? palette::kPurple : palette::kSky;
}

std::vector<ScatterGroup> precision_groups(const std::vector<SweepRow>& rows) {
  std::vector<ScatterGroup> groups;
  for (const SweepRow& row : rows) {
    if (std::ranges::count(groups, row.precision, &ScatterGroup::name) > 0) continue;
    groups.push_back({row.precision, precision_colour(row.precision)});
  }
  return groups;
}

Standing standing_of(const SweepRun& run, std::size_t row,
                     const std::vector<std::size_t>& frontier) {
  if (run.decision.recommended == row) return Standing::Recommended;
  if (std::ranges::count(frontier, row) > 0) return Standing::Frontier;
  return is_accepted(run.rows[row]) ? Standing::Accepted : Standing::Rejected;
}

const std::vector<std::size_t>& frontier_of(const SweepRun& run, ParetoCost cost) {
  return cost == ParetoCost::Latency  ? run.latency_frontier
         : cost == ParetoCost::Energy ? run.energy_frontier
                                      : run.memory_frontier;
}

bool has_pruned(const std::vector<SweepRow>& rows) {
  return std::ranges::any_of(rows, [](const SweepRow& row) { return row.pruning_level > 0; });
}

// What tells rows of a colour apart.
struct LabelParts {
  bool has_level = false;
  VaryingSettings varying = {};
};

// "0.25 b32 t2"; the notes explain it.
std::string point_label(const SweepRow& row, const LabelParts& shown, Standing standing) {
  std::vector<std::string> parts;
  if (standing == Standing::Recommended) {
    parts.push_back(describe(row));
  } else if (shown.has_level) {
    parts.push_back(with_decimal(row.pruning_level));
  }
  if (shown.varying.batch_size) parts.push_back(fmt::format("b{}", row.batch_size));
  if (shown.varying.threads) parts.push_back(fmt::format("t{}", row.threads));
  return join(parts, " ");
}

ScatterPoint chart_point(const PerfMetrics& metrics, double cost, const ChartedCost& charted,
                         bool is_latency) {
  ScatterPoint point{.x = cost * charted.unit,
                     .y = 100 * metrics.accuracy,
                     .y_low = 100 * metrics.accuracy_ci95_low,
                     .y_high = 100 * metrics.accuracy_ci95_high};
  point.x_low = is_latency ? metrics.latency_ci95_low_ms * charted.unit : point.x;
  point.x_high = is_latency ? metrics.latency_ci95_high_ms * charted.unit : point.x;
  return point;
}

std::vector<ScatterPoint> chart_points(const SweepRun& run, ParetoCost cost,
                                       const std::vector<std::optional<double>>& costs,
                                       const ChartedCost& charted,
                                       const std::vector<ScatterGroup>& groups) {
  const LabelParts shown{has_pruned(run.rows), varying_settings(run.rows)};
  std::vector<ScatterPoint> points;
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    const SweepRow& row = run.rows[i];
    if (!row.metrics || !costs[i]) continue;
    ScatterPoint point = chart_point(*row.metrics, *costs[i], charted, cost == ParetoCost::Latency);
    point.standing = standing_of(run, i, frontier_of(run, cost));
    point.group = static_cast<std::size_t>(
        std::ranges::find(groups, row.precision, &ScatterGroup::name) - groups.begin());
    point.share = 1 - 0.8 * row.pruning_level;
    point.label = point_label(row, shown, point.standing);
    points.push_back(std::move(point));
  }
  return points;
}

std::vector<Point> chart_frontier(const SweepRun& run, ParetoCost cost,
                                  const std::vector<std::optional<double>>& costs,
                                  const ChartedCost& charted) {
  std::vector<Point> corners;
  for (const std::size_t index : frontier_of(run, cost)) {
    const PerfMetrics& metrics = *run.rows.at(index).metrics;
    const double accuracy = run.config.pareto_use_ci ? metrics.accuracy_ci95_low : metrics.accuracy;
    corners.push_back({costs[index].value_or(0) * charted.unit, 100 * accuracy});
  }
  return corners;
}

std::optional<ScatterLimit> chart_limit(const SweepRun& run, ParetoCost cost,
                                        const ChartedCost& charted) {
  const SweepConfig& config = run.config;
  if (cost == ParetoCost::Memory) {
    return ScatterLimit{config.active_memory_budget_mb,
                        fmt::format("budget {:g} MB", config.active_memory_budget_mb)};
  }
  if (cost != ParetoCost::Latency || !config.latency_budget_ms) return std::nullopt;
  return ScatterLimit{*config.latency_budget_ms * charted.unit,
                      fmt::format("budget {:g} ms", *config.latency_budget_ms)};
}

std::vector<std::string> chart_notes(const SweepRun& run) {
  const VaryingSettings varying = varying_settings(run.rows);
  std::vector<std::string> notes;
  if (has_pruned(run.rows)) notes = {"labels: pruning level", "smaller: pruned more"};
  if (varying.batch_size) notes.emplace_back("b: batch size");
  if (varying.threads) notes.emplace_back("t: threads");
  if (run.config.pareto_use_ci) notes.push_back("frontier: lower ends of intervals");
  const auto failed = std::ranges::count_if(run.rows, has_failed);
  if (failed > 0) notes.push_back(fmt::format("{} failed", failed));
  return notes;
}

ScatterChart accuracy_chart(const SweepRun& run, ParetoCost cost) {
  const auto costs = pareto_costs(run.rows, cost);
  const ChartedCost charted = charted_cost(run, cost, largest_cost(costs));
  ScatterChart chart{.title = chart_title(run.config.model, "accuracy and " + charted.title),
                     .subtitle = swept_text(run),
                     .x_title = charted.axis,
                     .y_title = "accuracy, %",
                     .groups = precision_groups(run.rows),
                     .notes = chart_notes(run),
                     .if_empty = run.rows.empty() ? "No version has been measured yet."
                                                  : "No version could be measured."};
  chart.points = chart_points(run, cost, costs, charted, chart.groups);
  chart.frontier = chart_frontier(run, cost, costs, charted);
  chart.limit = chart_limit(run, cost, charted);
  return chart;
}

}  // namespace

std::string report::accuracy_chart_png(const SweepRun& run, ParetoCost cost) {
  return scatter_chart_png(accuracy_chart(run, cost));
}

std::string report::accuracy_chart_svg(const SweepRun& run, ParetoCost cost) {
  return scatter_chart_svg(accuracy_chart(run, cost));
}

}  // namespace assay
