// Profiles of several models, batches or numbers of threads in one table, a row each.
#include <fmt/core.h>

#include <algorithm>
#include <set>

#include "assay/profile_report.h"
#include "base/text.h"
#include "report/csv.h"
#include "report/figures.h"
#include "report/json_parts.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

// A result beside the first one of the same model.
struct SetRow {
  const Profile* profile = nullptr;
  double speed_up = 1;    // in samples per second
  double efficiency = 1;  // speed-up per thread, relative to the first result
};

SetRow row_beside(const Profile& profile, const Profile& first) {
  SetRow row{.profile = &profile};
  if (first.throughput_sps > 0) row.speed_up = profile.throughput_sps / first.throughput_sps;
  const double threads = profile.program.cpu.threads;
  if (threads > 0) row.efficiency = row.speed_up * first.program.cpu.threads / threads;
  return row;
}

std::vector<SetRow> rows_of(std::span<const Profile> profiles) {
  std::vector<SetRow> rows;
  const Profile* first = nullptr;
  for (const Profile& profile : profiles) {
    if (first == nullptr || first->model.name != profile.model.name) first = &profile;
    rows.push_back(row_beside(profile, *first));
  }
  return rows;
}

// Columns that would say the same in every row are left out.
struct SetColumns {
  bool model = false;
  bool batch = false;
  bool threads = false;
  bool speed_up = false;    // some model has several results
  bool efficiency = false;  // with different numbers of threads
  bool of_peak = false;
};

SetColumns columns_needed(std::span<const Profile> profiles) {
  std::set<std::string> models;
  std::set<std::int64_t> batches;
  std::set<int> threads;
  SetColumns needed;
  for (const Profile& profile : profiles) {
    needed.speed_up = !models.insert(profile.model.name).second || needed.speed_up;
    batches.insert(profile.batch);
    threads.insert(profile.program.cpu.threads);
    needed.of_peak = needed.of_peak || profile.computational_efficiency.has_value();
  }
  needed.model = models.size() > 1;
  needed.batch = batches.size() > 1;
  needed.threads = threads.size() > 1;
  needed.efficiency = needed.speed_up && needed.threads;
  needed.of_peak = needed.of_peak && !needed.efficiency;
  return needed;
}

TextTable empty_table(const SetColumns& needed) {
  std::vector<TextColumn> columns;
  if (needed.model) columns.push_back({.title = "model", .shrinks = true, .narrowest = 8});
  if (needed.batch) columns.push_back({.title = "batch", .is_number = true});
  if (needed.threads) columns.push_back({.title = "threads", .is_number = true});
  for (const char* title : {"latency", "95 %", "samples/s"}) {
    columns.push_back({.title = title, .is_number = true});
  }
  if (needed.speed_up) columns.push_back({.title = "speed-up", .is_number = true});
  if (needed.efficiency) columns.push_back({.title = "efficiency", .is_number = true});
  if (needed.of_peak) columns.push_back({.title = "of peak", .is_number = true});
  columns.push_back({.title = "noisy"});
  return TextTable(std::move(columns));
}

std::string set_interval_text(const LatencySummary& latency) {
  if (!latency.ci95_low_ms || !latency.ci95_high_ms) return "-";
  return interval_text(latency.median_ms, *latency.ci95_low_ms, *latency.ci95_high_ms);
}

std::string whole_percent(std::optional<double> share) {
  return share ? fmt::format("{:.0f}%", 100 * *share) : "-";
}

std::vector<std::string> cells_of(const SetRow& row, const SetColumns& needed) {
  const Profile& profile = *row.profile;
  const LatencySummary& latency = profile.latency.latency;
  std::vector<std::string> cells;
  if (needed.model) cells.push_back(without_control_characters(profile.model.name));
  if (needed.batch) cells.push_back(with_thousands(profile.batch));
  if (needed.threads) cells.push_back(std::to_string(profile.program.cpu.threads));
  cells.push_back(duration_text(latency.median_ms));
  cells.push_back(set_interval_text(latency));
  cells.push_back(rate_text(profile.throughput_sps));
  if (needed.speed_up) cells.push_back(fmt::format("{:.2f}", row.speed_up));
  if (needed.efficiency) cells.push_back(whole_percent(row.efficiency));
  if (needed.of_peak) cells.push_back(whole_percent(profile.computational_efficiency));
  cells.emplace_back(profile.latency.verdict == Verdict::Noisy ? "noisy" : "");
  return cells;
}

// What all rows have in common.
std::string common_text(const Profile& first, const SetColumns& needed) {
  std::vector<std::string> parts;
  if (!needed.model) parts.push_back(without_control_characters(first.model.name));
  if (!needed.batch) parts.push_back(fmt::format("batch {}", first.batch));
  const int threads = first.program.cpu.threads;
  if (!needed.threads) {
    parts.push_back(team_text(threads));
  }
  return parts.empty() ? "" : join(parts, ", ") + "\n\n";
}

constexpr const char* kSpeedUp =
    "Speed-up: samples/s compared with the first row of the same model.\n";
constexpr const char* kEfficiency =
    "Speed-up: samples/s compared with the first row of the same model; efficiency:\n"
    "speed-up per thread.\n";

}  // namespace

std::string profiles_table(std::span<const Profile> profiles, const Layout& layout) {
  if (profiles.empty()) return "";
  const SetColumns needed = columns_needed(profiles);
  TextTable table = empty_table(needed);
  for (const SetRow& row : rows_of(profiles)) table.add_row(cells_of(row, needed));
  const char* legend = needed.efficiency ? kEfficiency : needed.speed_up ? kSpeedUp : "";
  return common_text(profiles.front(), needed) + table.render(layout) +
         (*legend == '\0' ? "" : "\n") + legend;
}

std::string profiles_json(std::span<const Profile> profiles) {
  std::vector<std::string> results;
  for (const Profile& profile : profiles) results.push_back(profile_json(profile));
  return results_json("assay.profiles/1", results);
}

std::string profiles_csv(std::span<const Profile> profiles) {
  std::string text = csv_line(std::vector<std::string>{
      "model", "batch", "threads", "median_ms", "ci95_low_ms", "ci95_high_ms", "throughput_sps",
      "speed_up", "efficiency", "computational_efficiency", "verdict"});
  for (const SetRow& row : rows_of(profiles)) {
    const Profile& profile = *row.profile;
    const LatencySummary& latency = profile.latency.latency;
    text += csv_line(std::vector<std::string>{
        without_control_characters(profile.model.name), std::to_string(profile.batch),
        std::to_string(profile.program.cpu.threads), csv_number(latency.median_ms),
        csv_number(latency.ci95_low_ms), csv_number(latency.ci95_high_ms),
        csv_number(profile.throughput_sps), csv_number(row.speed_up), csv_number(row.efficiency),
        csv_number(profile.computational_efficiency), std::string(name(profile.latency.verdict))});
  }
  return text;
}

}  // namespace assay
