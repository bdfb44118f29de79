#include <fmt/core.h>

#include <cmath>

#include "assay/sweep_report.h"
#include "base/text.h"
#include "report/figures.h"
#include "report/headline.h"
#include "report/multi_seed_columns.h"
#include "report/sweep_parts.h"
#include "report/sweep_words.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

Json seed_aggregate_json(const SeedVersion& version) {
  Json json = object_of(seed_version_figures(version));
  for (const std::string& figure : aggregated_figures()) {
    const Spread* spread = find_spread(version.aggregate, figure);
    json[figure] = spread == nullptr ? Json(nullptr) : object_of(spread_figures(spread));
  }
  return json;
}

NamedFigures seed_csv_figures(const SeedVersion& version) {
  NamedFigures figures = seed_version_figures(version);
  for (const std::string& figure : aggregated_figures()) {
    for (const auto& [name, value] : spread_figures(find_spread(version.aggregate, figure))) {
      figures.emplace_back(figure + "_" + name, value);
    }
  }
  return figures;
}

// "41.23 ±1.76", the deviation only if there are several.
std::string spread_text(const Spread* spread, double scale, int decimals) {
  if (spread == nullptr) return "-";
  std::string text = fmt::format("{:.{}f}", scale * spread->mean, decimals);
  if (spread->count > 1) text += fmt::format(" ±{:.{}f}", scale * spread->std, decimals);
  return text;
}

std::string mean_text(const Spread* spread) {
  return spread == nullptr ? "-" : any_rate_text(spread->mean);
}

double largest_mean_latency(const std::vector<SeedVersion>& versions) {
  double largest = 0;
  for (const SeedVersion& version : versions) {
    const Spread* spread = find_spread(version.aggregate, "latency_ms");
    if (spread != nullptr && std::isfinite(spread->mean)) largest = std::max(largest, spread->mean);
  }
  return largest;
}

std::string of_runs(std::size_t count, const SeedAggregate& aggregate) {
  return fmt::format("{} of {}", count, aggregate.runs);
}

bool has_other_settings(const std::vector<SeedVersion>& versions) {
  return std::ranges::any_of(versions, [&](const SeedVersion& version) {
    const SeedAggregate& first = versions.front().aggregate;
    return version.aggregate.batch_size != first.batch_size ||
           version.aggregate.threads != first.threads;
  });
}

std::string seed_version_text(const SeedAggregate& aggregate, bool has_others) {
  std::string text = describe(
      SweepRow{.pruning_level = aggregate.pruning_level, .precision = aggregate.precision});
  if (has_others) text += fmt::format(", batch {} × {}", aggregate.batch_size, aggregate.threads);
  return text;
}

std::string seeds_text(const std::vector<SweepRun>& runs) {
  std::vector<std::string> seeds;
  for (const SweepRun& run : runs) seeds.push_back(std::to_string(run.seed));
  return join(seeds, ", ");
}

std::string seed_versions_table(const std::vector<SeedVersion>& versions, const Layout& layout) {
  const TimeUnit unit = time_unit(largest_mean_latency(versions));
  const bool has_others = has_other_settings(versions);
  TextTable table({{.title = "version", .shrinks = true, .narrowest = 16},
                   {.title = "accuracy, %", .is_number = true},
                   {.title = fmt::format("latency, {}", unit.name), .is_number = true},
                   {.title = "MB", .is_number = true},
                   {.title = "accepted", .is_number = true},
                   {.title = "recommended", .is_number = true}});
  for (const auto& version : versions) {
    const SeedAggregate& aggregate = version.aggregate;
    table.add_row({seed_version_text(aggregate, has_others),
                   spread_text(find_spread(aggregate, "accuracy"), 100, 2),
                   spread_text(find_spread(aggregate, "latency_ms"), 1 / unit.milliseconds, 3),
                   mean_text(find_spread(aggregate, "memory_mb")),
                   of_runs(aggregate.accepted, aggregate),
                   of_runs(version.recommended, aggregate)});
  }
  return table.render(layout);
}

}  // namespace

std::string multi_seed_json(const std::vector<SweepRun>& runs) {
  Json json = {{"schema", "assay.sweep_seeds/1"}};
  json["seeds"] = Json::array();
  json["runs"] = Json::array();
  json["aggregates"] = Json::array();
  for (const SweepRun& run : runs) {
    json["seeds"].push_back(run.seed);
    json["runs"].push_back(sweep_summary_object(run));
  }
  for (const SeedVersion& version : seed_versions(runs)) {
    json["aggregates"].push_back(seed_aggregate_json(version));
  }
  return indented_text_of(json) + "\n";
}

std::string multi_seed_csv(const std::vector<SweepRun>& runs) {
  std::string text = csv_header(seed_csv_figures(SeedVersion{}));
  for (const SeedVersion& version : seed_versions(runs)) text += csv_row(seed_csv_figures(version));
  return text;
}

std::string multi_seed_table(const std::vector<SweepRun>& runs, const Layout& layout) {
  if (runs.empty()) return "no seed has been run\n";
  const SweepConfig& config = runs.front().config;
  const std::string heading = wrapped(
      without_control_characters(fmt::format("{} on {}, {}: {}", config.model, config.dataset,
                                             plural_of(runs.size(), "seed"), seeds_text(runs))));
  return heading + "\n" + seed_versions_table(seed_versions(runs), layout) +
         "means over the seeds ± standard deviation\n";
}

}  // namespace assay
