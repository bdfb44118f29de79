#include <algorithm>

#include "assay/profile_report.h"
#include "base/fail.h"
#include "base/text.h"
#include "report/count_columns.h"
#include "report/display_names.h"
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

std::string memory_text(const Profile& profile) {
  const ProfileMemory& memory = profile.memory;
  return fmt::format("{} = {} weights + {} activations{}", binary_text(memory.peak_bytes),
                     binary_text(memory.program.weight_bytes),
                     binary_text(memory.program.arena_bytes),
                     profile.imported ? ", as planned by assay" : "");
}

std::string needed_text(const ProfileMemory& memory) {
  const std::string needed = binary_text(memory.useful_bytes);
  std::string text =
      memory.useful_bytes > memory.peak_bytes
          ? fmt::format("less than the {} of the model's tensors: fused ones are not stored",
                        needed)
          : fmt::format("the model needs {}, {:.0f} % of that", needed,
                        100 * memory.memory_efficiency);
  if (memory.peak_rss_growth_bytes) {
    text += fmt::format("; the process grew by {}", binary_text(*memory.peak_rss_growth_bytes));
  }
  if (const auto grown = memory.program.device_growth_bytes)
    text += fmt::format("; the GPU has {} less free memory", binary_text(*grown));
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

std::string summary(const Profile& profile, bool explain) {
  return labelled("source", source_text(profile)) + labelled("", attribution_text(profile)) +
         labelled("setting", setting_text(profile)) +
         labelled("latency", latency_text(profile.latency)) +
         labelled("", spread_text(profile.latency.latency)) +
         labelled("verdict",
                  explain ? verdict_text(profile.latency) : verdict_names(profile.latency)) +
         labelled("throughput", throughput_text(profile)) + labelled("work", work_text(profile)) +
         labelled("bottleneck", ceiling_text(profile)) +
         labelled("parameters", parameter_text(profile)) +
         labelled("memory", memory_text(profile)) +
         labelled("", explain && !profile.imported ? needed_text(profile.memory) : "") +
         labelled("copies", copies_text(profile)) + labelled("GPU", gpu_state_text(profile)) +
         labelled("energy", energy_text(profile.energy)) +
         labelled("start-up", profile.imported ? "" : start_up_text(profile.start_up));
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

using Fields = std::vector<ProfileField>;

Fields chosen_fields(const ProfileReportOptions& options) {
  Fields fields;
  for (const std::string& column : options.columns) {
    fields.push_back(static_cast<ProfileField>(find_column("`columns`", column, profile_fields())));
  }
  return fields;
}

// Columns that would be empty are left out.
Fields usual_fields(const std::vector<ProfileRow>& rows, GroupBy group_by) {
  const auto has_bound = [](const ProfileRow& row) { return row.rates.bound.has_value(); };
  const auto has_warnings = [](const ProfileRow& row) { return !row.warnings.empty(); };
  Fields fields = {ProfileField::Name};
  if (group_by != GroupBy::Ops) fields.push_back(ProfileField::Op);
  if (group_by != GroupBy::Layers) fields.push_back(ProfileField::Detail);
  fields.insert(fields.end(), {ProfileField::Time, ProfileField::Share, ProfileField::Gflops,
                               ProfileField::Gbytes});
  // Steps have an algorithm to show instead.
  const bool shows_bound = group_by == GroupBy::Layers && std::ranges::any_of(rows, has_bound);
  if (shows_bound) fields.push_back(ProfileField::Bound);
  if (std::ranges::any_of(rows, has_warnings)) fields.push_back(ProfileField::Warnings);
  return fields;
}

TextColumn column_of(ProfileField field, GroupBy group_by) {
  const char* heading = profile_fields()[static_cast<std::size_t>(field)].heading;
  switch (field) {
    case ProfileField::Name:
      return {.title = group_by == GroupBy::Steps ? "step"
                       : group_by == GroupBy::Ops ? "op"
                                                  : heading,
              .shrinks = true,
              .narrowest = 15};
    case ProfileField::Op:
      return {.title = heading, .shrinks = true, .narrowest = 8};
    case ProfileField::Detail: {
      const bool counts = group_by == GroupBy::Ops;
      return {.title = counts                        ? "layers"
                       : group_by == GroupBy::Layers ? "fused"
                                                     : heading,
              .is_number = counts,
              .shrinks = !counts,
              .narrowest = 8};
    }
    case ProfileField::Output:
      return {.title = heading, .shrinks = true, .narrowest = 12};
    case ProfileField::Bound:
    case ProfileField::Warnings:
      return {.title = heading};
    default:
      return {.title = heading, .is_number = true};
  }
}

std::string counted_text(ProfileField field, std::int64_t figure) {
  if (figure == 0) return "-";
  const bool is_bytes = field >= ProfileField::Read;
  if (is_bytes) return binary_text(figure);
  std::string text = with_si_suffix(static_cast<double>(figure));
  std::erase(text, ' ');
  return text;
}

// A table of rows with the chosen fields.
class ProfileRowsTable {
 public:
  ProfileRowsTable(const Profile& profile, GroupBy group_by, Fields fields)
      : group_by_(group_by),
        names_(display_names(profile)),
        decimals_(decimals_for(profile.run_ms())),
        fields_(std::move(fields)),
        table_(columns()) {}

  void add(const ProfileRow& row) {
    std::vector<std::string> cells;
    for (const ProfileField field : fields_) cells.push_back(cell(row, field));
    table_.add_row(std::move(cells));
  }

  void add_rule() { table_.add_rule(); }
  std::string render(const Layout& layout) const { return table_.render(layout); }

 private:
  std::vector<TextColumn> columns() const {
    std::vector<TextColumn> columns;
    for (const ProfileField field : fields_) columns.push_back(column_of(field, group_by_));
    return columns;
  }

  std::string cell(const ProfileRow& row, ProfileField field) const {
    constexpr std::size_t kWidestOp = 13;
    if (const CountColumn* column = counted_figure(field)) {
      return counted_text(field, row.cost.*column->figure);
    }
    switch (field) {
      case ProfileField::Name:
        return without_control_characters(names_.in_text(row.cost.name));
      case ProfileField::Op:
        return cut_off(without_control_characters(row.cost.op), kWidestOp);
      case ProfileField::Detail:
        return without_control_characters(names_.in_text(row.detail));
      case ProfileField::Output:
        return row.cost.output_shape ? shape_text(row.cost) : "";
      case ProfileField::Time:
        return time_text(row.time_ms, decimals_);
      case ProfileField::Share:
        return row.time_ms ? percent_text(row.share) : "-";
      case ProfileField::Gflops:
        return rate_text(row.rates.executed_gflops_per_second);
      case ProfileField::NominalGflops:
        return rate_text(row.rates.gflops_per_second);
      case ProfileField::Gbytes:
        return rate_text(row.rates.gbytes_per_second);
      case ProfileField::Bound:
        return bound_text(row.rates);
      default:
        return warnings_text(row.warnings);
    }
  }

  GroupBy group_by_;
  DisplayNames names_;
  int decimals_ = 3;
  Fields fields_;
  TextTable table_;
};

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
  if (!options.sort) options.sort = "time_ms";
  ProfileRow hidden;
  auto rows = profile_rows(profile, options, &hidden);
  const ProfileRow between = rows.back();
  rows.pop_back();
  std::erase_if(rows, takes_no_time);
  Fields fields = chosen_fields(options);
  if (fields.empty()) fields = usual_fields(rows, options.group_by);
  ProfileRowsTable table(profile, options.group_by, std::move(fields));
  for (const ProfileRow& row : rows) table.add(row);
  if (hidden.time_ms) table.add(hidden);
  table.add({.cost = {.name = between.cost.name, .op = ""},
             .time_ms = between.time_ms,
             .share = between.share});
  table.add_rule();
  table.add(total_row(profile));
  return table.render(options.layout);
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

std::string advice_text(const Advice& advice, const DisplayNames& names) {
  constexpr std::size_t kIndent = 10;
  std::vector<std::string> layers;
  for (const std::string& layer : advice.layers) layers.push_back(names.of(layer));
  const std::string where = layers.empty() ? "" : names_text(layers) + ". ";
  const std::string text =
      fmt::format("{}{}: {}{} → {}", advice.rule, advice.once ? ", once" : "", where,
                  names.in_text(advice.reason), names.in_text(advice.action));
  return fmt::format("{:>8}  {}", duration_text(advice.saving_ms),
                     wrapped(with_short_words(text) + ".", kIndent));
}

// What to do, without the figures and the alternatives that follow.
std::string first_clause(const std::string& action) {
  std::size_t end = action.size();
  for (const char* separator : {": ", "; ", ", ", " ("}) {
    end = std::min(end, action.find(separator));
  }
  return action.substr(0, end);
}

// One line: what to do, and where if there is room for it.
std::string short_advice_text(const Advice& advice, const DisplayNames& names) {
  const std::string what = without_control_characters(
      fmt::format("{:>8}  {}: {}{}", duration_text(advice.saving_ms), advice.rule,
                  names.in_text(first_clause(advice.action)), advice.once ? ", once" : ""));
  const std::string where = advice.layers.empty() ? ""
                            : advice.layers.size() == 1
                                ? names.of(advice.layers.front())
                                : fmt::format("{} layers", advice.layers.size());
  const std::string line =
      where.empty() ? what : fmt::format("{} ({})", what, without_control_characters(where));
  return cut_off(display_width(line) <= kTableWidth ? line : what, kTableWidth) + "\n";
}

std::string savings_text(const Profile& profile, bool explain) {
  const std::size_t most = explain ? 5 : 3;
  const auto& advice = profile.advice;
  if (advice.empty()) return "";
  const DisplayNames names = display_names(profile);
  std::string text = wrapped("Potential savings, largest first; they overlap and do not add up:");
  for (std::size_t i = 0; i < std::min(most, advice.size()); ++i) {
    text += explain ? advice_text(advice[i], names) : short_advice_text(advice[i], names);
  }
  return text + (explain ? "\n" : "");
}

std::string convention(const Profile& profile) {
  std::string text =
      "Times are those of the runs next to the median and sum to it; a fused step's time is listed "
      "under its main layer. GFLOP/s are executed.";
  if (profile.imported) {
    text =
        "Times are those of the other runtime and sum to its run; the time of nodes that it fused "
        "is listed under the one with the most work. GFLOP/s and GB/s are counted work over that "
        "time.";
  }
  if (profile.bottleneck)
    text +=
        profile.imported
            ? " Bounds: the slowest of arithmetic and memory levels, as counted, and how near this "
              "machine's measured ceiling the time comes."
            : " Bounds: the slowest of arithmetic and memory levels, and how near its measured "
              "ceiling the time comes; overhead where starting the step takes half of its time.";
  return wrapped(text);
}

constexpr const char* kMore =
    "`explain` says what the figures mean and why; `top` shows more rows.\n";

// As many rows as leave the whole report, warnings included, on one screen.
std::size_t rows_that_fit(std::size_t other_lines) {
  constexpr std::size_t kScreen = 40;
  constexpr std::size_t kAroundRows = 6;  // headings, two rules, the sums
  constexpr std::size_t kFewest = 5;
  const std::size_t taken = std::min(kScreen, other_lines + kAroundRows);
  return std::clamp(kScreen - taken, kFewest, kRowsShown);
}

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

}  // namespace

std::string profile_table(const Profile& profile, const ProfileReportOptions& options) {
  const std::string above =
      (options.explain ? headline(profile.model) : short_headline(profile.model)) + "\n" +
      summary(profile, options.explain) + "\n";
  const std::string below = "\n" + savings_text(profile, options.explain) +
                            fell_back_text(profile) +
                            (options.explain ? convention(profile) : kMore);
  ProfileReportOptions shown = options;
  if (!options.top) {
    shown.top = rows_that_fit(lines_in(above) + lines_in(below) + profile.warnings.size());
  }
  return above + rows_table(profile, shown) + below;
}

}  // namespace assay
