#include <algorithm>

#include "assay/profile_report.h"
#include "base/fail.h"
#include "base/text.h"
#include "report/figures.h"
#include "report/headline.h"
#include "report/profile_lines.h"
#include "report/profile_rows.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

// --- the lines above the table

std::string work_text(const Profile& profile) {
  std::string text = fmt::format("{} at {} GFLOP/s",
                                 with_si_unit(static_cast<double>(profile.totals.flops), "FLOPs"),
                                 rate_text(profile.gflops_per_second));
  if (profile.executed_flops > 0 && profile.executed_flops != profile.totals.flops) {
    text += fmt::format("; executed {} at {}",
                        with_si_unit(static_cast<double>(profile.executed_flops), "FLOPs"),
                        rate_text(profile.executed_gflops_per_second));
  }
  return text;
}

std::string parameter_text(const Profile& profile) {
  return fmt::format("{}   {}", with_thousands(profile.totals.parameters),
                     binary_text(profile.totals.parameter_bytes));
}

std::string memory_text(const ProfileMemory& memory) {
  return fmt::format("{} = {} weights + {} activations", binary_text(memory.peak_bytes),
                     binary_text(memory.program.weight_bytes),
                     binary_text(memory.program.arena_bytes));
}

std::string needed_text(const ProfileMemory& memory) {
  std::string text = fmt::format("the model needs {}, {:.0f} % of that",
                                 binary_text(memory.useful_bytes), 100 * memory.memory_efficiency);
  if (memory.peak_rss_growth_bytes) {
    text += fmt::format("; the process grew by {}", binary_text(*memory.peak_rss_growth_bytes));
  }
  return text;
}

std::string energy_text(const EnergyEstimate& energy) {
  std::vector<std::string> parts;
  if (energy.gross_j_per_run) parts.push_back(joules_text(*energy.gross_j_per_run) + " a run");
  if (energy.net_j_per_run) {
    parts.push_back(joules_text(*energy.net_j_per_run) + " of it above idling");
  }
  if (energy.proxy_j) {
    parts.push_back(joules_text(*energy.proxy_j) + " a run by proxy");
  }
  if (!energy.note.empty()) parts.push_back(energy.note);
  return join(parts, "; ");
}

std::string summary(const Profile& profile) {
  return labelled("setting", setting_text(profile)) +
         labelled("latency", latency_text(profile.latency)) +
         labelled("", spread_text(profile.latency.latency)) +
         labelled("verdict", verdict_text(profile.latency)) +
         labelled("throughput", throughput_text(profile)) + labelled("work", work_text(profile)) +
         labelled("bottleneck", ceiling_text(profile)) +
         labelled("parameters", parameter_text(profile)) +
         labelled("memory", memory_text(profile.memory)) +
         labelled("", needed_text(profile.memory)) +
         labelled("energy", energy_text(profile.energy)) +
         labelled("start-up", start_up_text(profile.start_up));
}

// --- the table

std::string bound_text(const Rates& rates) {
  if (!rates.bound) return "";
  if (*rates.bound == Bound::Overhead) return std::string(name(*rates.bound));
  const std::string what =
      rates.bound_level.empty() ? std::string(name(*rates.bound)) : rates.bound_level;
  return fmt::format("{} {:.0f}%", what, rates.percent_of_ceiling.value_or(0));
}

std::string time_text(const std::optional<double>& milliseconds, int decimals) {
  return milliseconds ? fmt::format("{:.{}f}", *milliseconds, decimals) : "-";
}

std::string warnings_text(const std::vector<std::string>& warnings) {
  if (warnings.size() < 2) return join(warnings, "");
  return fmt::format("{} +{}", warnings.front(), warnings.size() - 1);
}

struct Shown {
  bool detail = false;
  bool bound = false;
  bool warnings = false;
};

Shown columns_needed(const std::vector<ProfileRow>& rows, GroupBy group_by) {
  Shown shown{.detail = group_by != GroupBy::Layers};
  for (const ProfileRow& row : rows) {
    // Steps have an algorithm to show instead.
    shown.bound = shown.bound || (row.rates.bound.has_value() && group_by == GroupBy::Layers);
    shown.warnings = shown.warnings || !row.warnings.empty();
  }
  return shown;
}

TextTable empty_table(GroupBy group_by, const Shown& shown) {
  std::vector<TextColumn> columns;
  if (group_by != GroupBy::Ops) {
    columns.push_back(
        {.title = group_by == GroupBy::Steps ? "step" : "layer", .shrinks = true, .narrowest = 15});
  }
  columns.push_back({.title = "op", .shrinks = true, .narrowest = 8});
  if (shown.detail) {
    const bool counts = group_by == GroupBy::Ops;
    columns.push_back({.title = counts ? "layers" : "algorithm",
                       .is_number = counts,
                       .shrinks = !counts,
                       .narrowest = 8});
  }
  for (const char* title : {"time ms", "share", "GFLOP/s", "GB/s"}) {
    columns.push_back({.title = title, .is_number = true});
  }
  if (shown.bound) columns.push_back({.title = "bound"});
  if (shown.warnings) columns.push_back({.title = "warnings"});
  return TextTable(std::move(columns));
}

void add_row(TextTable& table, const ProfileRow& row, GroupBy group_by, const Shown& shown,
             int decimals) {
  constexpr std::size_t kWidestOp = 13;
  std::vector<std::string> cells;
  const std::string title = without_control_characters(row.cost.name);
  if (group_by != GroupBy::Ops) {
    cells.push_back(title);
    cells.push_back(cut_off(without_control_characters(row.cost.op), kWidestOp));
  } else {
    cells.push_back(title);
  }
  if (shown.detail) cells.push_back(without_control_characters(row.detail));
  cells.push_back(time_text(row.time_ms, decimals));
  cells.push_back(row.time_ms ? percent_text(row.share) : "-");
  cells.push_back(rate_text(row.rates.executed_gflops_per_second));
  cells.push_back(rate_text(row.rates.gbytes_per_second));
  if (shown.bound) cells.push_back(bound_text(row.rates));
  if (shown.warnings) cells.push_back(warnings_text(row.warnings));
  table.add_row(std::move(cells));
}

ProfileRow total_row(const Profile& profile) {
  const double run_ms = profile.run_ms();
  ProfileRow row{.time_ms = run_ms, .share = 1.0};
  row.cost.name = "median run";
  if (run_ms > 0) {
    row.rates.executed_gflops_per_second =
        static_cast<double>(profile.executed_flops) / (run_ms * 1e6);
    row.rates.gbytes_per_second = static_cast<double>(profile.traffic_bytes) / (run_ms * 1e6);
  }
  return row;
}

bool takes_no_time(const ProfileRow& row) {
  return !row.time_ms && row.warnings.empty();
}

// The rest in one row, without rows that take no time.
std::string rows_table(const Profile& profile, ProfileReportOptions options) {
  if (!options.top) options.top = kRowsShown;
  if (!options.sort) options.sort = "time_ms";
  ProfileRow hidden;
  auto rows = profile_rows(profile, options, &hidden);
  const ProfileRow between = rows.back();
  rows.pop_back();
  std::erase_if(rows, takes_no_time);
  const Shown shown = columns_needed(rows, options.group_by);
  const int decimals = decimals_for(profile.run_ms());
  TextTable table = empty_table(options.group_by, shown);
  const auto add = [&](const ProfileRow& row) {
    add_row(table, row, options.group_by, shown, decimals);
  };
  for (const ProfileRow& row : rows) add(row);
  if (hidden.time_ms) add(hidden);
  add({.cost = {.name = between.cost.name, .op = ""},
       .time_ms = between.time_ms,
       .share = between.share});
  table.add_rule();
  add(total_row(profile));
  return table.render(kTableWidth);
}

// --- the lines below it

// "conv1, conv2, conv3 and 14 more"
std::string names_text(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 3;
  const std::vector<std::string> named(names.begin(),
                                       names.begin() + std::min(kNamed, names.size()));
  const std::string text = join(named, ", ");
  return names.size() > kNamed ? fmt::format("{} and {} more", text, names.size() - kNamed) : text;
}

// No word is longer than a line.
std::string with_short_words(const std::string& text) {
  constexpr std::size_t kLongestWord = 40;
  std::vector<std::string> words;
  for (const std::string& word : split(without_control_characters(text), ' ')) {
    words.push_back(shortened(word, kLongestWord));
  }
  return join(words, " ");
}

std::string advice_text(const Advice& advice) {
  constexpr std::size_t kIndent = 10;
  const std::string where = advice.layers.empty() ? "" : names_text(advice.layers) + ". ";
  const std::string text = fmt::format("{}{}: {}{} → {}", advice.rule, advice.once ? ", once" : "",
                                       where, advice.reason, advice.action);
  return fmt::format("{:>8}  {}", duration_text(advice.saving_ms),
                     wrapped(with_short_words(text) + ".", kIndent));
}

std::string savings_text(const std::vector<Advice>& advice) {
  constexpr std::size_t kShown = 5;
  if (advice.empty()) return "";
  std::string text = wrapped("Potential savings, largest first; they overlap and do not add up:");
  for (std::size_t i = 0; i < std::min(kShown, advice.size()); ++i) text += advice_text(advice[i]);
  return text + "\n";
}

std::string convention(const Profile& profile) {
  std::string text =
      "Times are those of the runs next to the median and sum to it; a fused step's time is listed "
      "under its main layer. GFLOP/s are executed.";
  if (profile.bottleneck)
    text +=
        " Bounds: the slowest of arithmetic and memory levels, and how near its measured ceiling "
        "the "
        "time comes; overhead where starting the step takes half of its time.";
  return wrapped(text);
}

}  // namespace

std::string profile_table(const Profile& profile, const ProfileReportOptions& options) {
  const std::string notes = fell_back_text(profile);
  return headline(profile.model) + "\n" + summary(profile) + "\n" + rows_table(profile, options) +
         "\n" + savings_text(profile.advice) + notes + convention(profile);
}

}  // namespace assay
