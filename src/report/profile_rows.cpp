#include "report/profile_rows.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "base/fail.h"
#include "base/text.h"
#include "report/count_columns.h"

namespace assay {

using namespace assay::report;

namespace {

std::string fused_text(const ProfileLayer& layer) {
  if (!layer.fused_into.empty()) return "in " + layer.fused_into;
  return layer.fused.empty() ? layer.cost.note : "with " + join(layer.fused, ", ");
}

std::vector<ProfileRow> rows_by_layer(const Profile& profile) {
  std::vector<ProfileRow> rows;
  for (const ProfileLayer& layer : profile.layers) {
    rows.push_back({.cost = layer.cost,
                    .time_ms = layer.time_ms,
                    .share = layer.share,
                    .rates = layer.rates,
                    .detail = fused_text(layer),
                    .warnings = layer.warnings});
  }
  return rows;
}

ProfileRow row_of(const ProfileStep& step) {
  ProfileRow row{.time_ms = step.time_ms,
                 .median_ms = step.median_ms,
                 .share = step.share,
                 .rates = step.rates,
                 .detail = step.info.algorithm};
  row.cost.name = step.info.name;
  row.cost.op = step.info.op;
  row.cost.answer = Answer::Counted;
  row.cost.flops = step.info.executed_flops;
  row.cost.bytes_read = step.info.bytes_read;
  row.cost.bytes_written = step.info.bytes_written;
  if (!step.info.fell_back.empty()) row.warnings.emplace_back("fell back");
  return row;
}

std::vector<ProfileRow> rows_by_step(const Profile& profile) {
  std::vector<ProfileRow> rows;
  for (const ProfileStep& step : profile.steps) rows.push_back(row_of(step));
  return rows;
}

// Rates of several rows: their work and bytes divided by the sum of their times.
struct Sum {
  ProfileRow row;
  std::int64_t count = 0;
  double gigaflops = 0;
  double executed_gigaflops = 0;
  double gigabytes = 0;
  double least_ms = 0;
  bool is_judged = false;

  void add(const ProfileRow& more) {
    ++count;
    add_figures(row.cost, more.cost);
    row.share += more.share;
    if (more.time_ms) row.time_ms = row.time_ms.value_or(0) + *more.time_ms;
    const double seconds = more.time_ms.value_or(0) / 1000.0;
    gigaflops += more.rates.gflops_per_second.value_or(0) * seconds;
    executed_gigaflops += more.rates.executed_gflops_per_second.value_or(0) * seconds;
    gigabytes += more.rates.gbytes_per_second.value_or(0) * seconds;
    for (const auto& warning : more.warnings) {
      if (std::ranges::find(row.warnings, warning) == row.warnings.end())
        row.warnings.push_back(warning);
    }
    if (!more.rates.percent_of_ceiling) return;
    is_judged = true;
    least_ms += more.time_ms.value_or(0) * *more.rates.percent_of_ceiling / 100;
  }

  ProfileRow finished() {
    const double seconds = row.time_ms.value_or(0) / 1000.0;
    if (seconds > 0 && gigaflops > 0) row.rates.gflops_per_second = gigaflops / seconds;
    if (seconds > 0 && executed_gigaflops > 0) {
      row.rates.executed_gflops_per_second = executed_gigaflops / seconds;
    }
    if (seconds > 0 && gigabytes > 0) row.rates.gbytes_per_second = gigabytes / seconds;
    if (seconds > 0 && is_judged) {
      row.rates.percent_of_ceiling = 100 * least_ms / *row.time_ms;
      row.rates.headroom_ms = std::max(0.0, *row.time_ms - least_ms);
    }
    return std::move(row);
  }
};

std::vector<ProfileRow> rows_by_op(const Profile& profile) {
  std::vector<Sum> sums;
  std::map<std::string, std::size_t> place;
  for (const ProfileRow& row : rows_by_layer(profile)) {
    const auto [found, is_new] = place.emplace(row.cost.op, sums.size());
    if (is_new) {
      sums.emplace_back();
      sums.back().row.cost.name = row.cost.op;
      sums.back().row.cost.op = row.cost.op;
      sums.back().row.cost.answer = Answer::Counted;
    }
    sums[found->second].add(row);
  }
  std::vector<ProfileRow> rows;
  for (Sum& sum : sums) {
    const std::int64_t count = sum.count;
    rows.push_back(sum.finished());
    rows.back().detail = with_thousands(count);
  }
  return rows;
}

ProfileRow between_steps(const Profile& profile) {
  const double run_ms = profile.run_ms();
  ProfileRow row{.time_ms = profile.between_steps_ms,
                 .share = run_ms > 0 ? profile.between_steps_ms / run_ms : 0.0};
  row.cost.name = between_steps_name(profile);
  row.cost.op = "-";
  return row;
}

constexpr std::array<ColumnName, 19> kProfileFields = {{
    {"layer", "name"},
    {"op", "op"},
    {"algorithm", "detail"},
    {"output", "output_shape"},
    {"time ms", "time_ms"},
    {"share", "share"},
    {"GFLOP/s", "executed_gflops_per_second"},
    {"nominal GFLOP/s", "gflops_per_second"},
    {"GB/s", "gbytes_per_second"},
    {"bound", "bound"},
    {"warnings", "warnings"},
    {"params", "parameters"},
    {"MACs", "macs"},
    {"effective MACs", "effective_macs"},
    {"FLOPs", "flops"},
    {"read", "bytes_read"},
    {"written", "bytes_written"},
    {"weight bytes", "parameter_bytes"},
    {"activations", "activation_bytes"},
}};

// Rows can also be in the order of execution, which is no column.
std::vector<ColumnName> sort_keys() {
  std::vector<ColumnName> keys(kProfileFields.begin(), kProfileFields.end());
  keys.push_back({"order", "order"});
  return keys;
}

void sort_by(std::vector<ProfileRow>& rows, ProfileField field) {
  const auto descending = [&](auto projection) {
    std::ranges::stable_sort(rows, std::greater<>{}, projection);
  };
  const auto ascending = [&](auto projection) { std::ranges::stable_sort(rows, {}, projection); };
  if (const CountColumn* column = counted_figure(field)) {
    return descending([&](const auto& row) { return row.cost.*column->figure; });
  }
  switch (field) {
    case ProfileField::Name:
      return ascending([](const auto& row) { return row.cost.name; });
    case ProfileField::Op:
      return ascending([](const auto& row) { return row.cost.op; });
    case ProfileField::Detail:
      return ascending([](const auto& row) { return row.detail; });
    case ProfileField::Output:
      return descending([](const auto& row) {
        return row.cost.output_shape ? row.cost.output_shape->elements().value_or(0) : 0;
      });
    case ProfileField::Share:
      return descending([](const auto& row) { return row.share; });
    case ProfileField::Gflops:
      return descending([](const auto& row) { return row.rates.executed_gflops_per_second; });
    case ProfileField::NominalGflops:
      return descending([](const auto& row) { return row.rates.gflops_per_second; });
    case ProfileField::Gbytes:
      return descending([](const auto& row) { return row.rates.gbytes_per_second; });
    case ProfileField::Bound:
      return descending([](const auto& row) { return row.rates.percent_of_ceiling; });
    case ProfileField::Warnings:
      return descending([](const auto& row) { return row.warnings.size(); });
    default:
      return descending([](const auto& row) { return row.time_ms; });
  }
}

void sort_by(std::vector<ProfileRow>& rows, const std::string& key) {
  const std::size_t at = find_column("`sort`", key, sort_keys());
  if (at < kProfileFields.size()) sort_by(rows, static_cast<ProfileField>(at));
}

// The sum of the rows beyond the top, which go; nothing if there are none.
std::optional<ProfileRow> cut_to(std::size_t top, std::vector<ProfileRow>& rows) {
  if (top == 0 || rows.size() <= top) return {};
  Sum rest;
  for (std::size_t i = top; i < rows.size(); ++i) rest.add(rows[i]);
  const std::string title = fmt::format("({} more)", with_thousands(rest.count));
  rows.resize(top);
  ProfileRow row = rest.finished();
  row.cost.name = title;
  row.warnings.clear();
  return row;
}

}  // namespace

std::string report::between_steps_name(const Profile& profile) {
  if (!profile.are_steps_timed_apart) return "(between steps)";
  constexpr double kRounding = 1e-9;
  return profile.between_steps_ms < -kRounding * profile.run_ms() ? "(overlap)" : "(launch)";
}

std::span<const ColumnName> report::profile_fields() {
  return kProfileFields;
}

const CountColumn* report::counted_figure(ProfileField field) {
  const std::string_view key = kProfileFields[static_cast<std::size_t>(field)].key;
  for (const CountColumn& column : figure_columns()) {
    if (key == column.name) return &column;
  }
  return nullptr;
}

std::vector<std::string> profile_columns() {
  std::vector<std::string> names;
  for (const ColumnName& field : sort_keys()) names.emplace_back(field.key);
  return names;
}

void check_profile_columns(const ProfileReportOptions& options) {
  if (options.sort) find_column("`sort`", *options.sort, sort_keys());
  for (const std::string& column : options.columns)
    find_column("`columns`", column, kProfileFields);
}

std::vector<ProfileRow> report::profile_rows(const Profile& profile,
                                             const ProfileReportOptions& options,
                                             ProfileRow* hidden) {
  std::vector<ProfileRow> rows = options.group_by == GroupBy::Steps ? rows_by_step(profile)
                                 : options.group_by == GroupBy::Ops ? rows_by_op(profile)
                                                                    : rows_by_layer(profile);
  const std::size_t top = options.top.value_or(0);
  if (options.sort) {
    sort_by(rows, *options.sort);
  } else if (top > 0) {
    sort_by(rows, ProfileField::Time);
  }
  const auto rest = cut_to(top, rows);
  if (rest && hidden != nullptr) *hidden = *rest;
  if (rest && hidden == nullptr) rows.push_back(*rest);
  rows.push_back(between_steps(profile));
  return rows;
}

}  // namespace assay
