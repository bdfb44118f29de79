#include <algorithm>

#include "assay/count_report.h"
#include "base/fail.h"
#include "base/text.h"
#include "report/count_columns.h"
#include "report/display_names.h"
#include "report/figures.h"
#include "report/headline.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

// A longer table shows only its most expensive layers, unless all are requested.
constexpr std::size_t kLongestTable = 300;
constexpr std::size_t kShownOfALongTable = 50;

std::string compact(std::int64_t number) {
  std::string text = with_si_suffix(static_cast<double>(number));
  std::erase(text, ' ');
  return number == 0 ? "-" : text;
}

std::string compact_bytes(std::int64_t bytes) {
  return bytes == 0 ? "-" : binary_text(bytes);
}

// The beginning of an op's name tells it apart: "BatchNormali…".
std::string op_text(const LayerCost& layer) {
  constexpr std::size_t kWidest = 13;
  return cut_off(without_control_characters(layer.op), kWidest);
}

using Fields = std::vector<CountField>;

Fields fields_of(const CountTableOptions& options) {
  Fields fields;
  for (const std::string& column : options.columns) {
    fields.push_back(static_cast<CountField>(find_column("`columns`", column, count_fields())));
  }
  if (!fields.empty()) return fields;
  const bool is_grouped = options.rows != CountRows::Layers;
  fields = {CountField::Name};
  if (is_grouped) fields.push_back(CountField::Layers);
  if (!is_grouped) fields.insert(fields.end(), {CountField::Op, CountField::Output});
  fields.insert(fields.end(),
                {CountField::Parameters, CountField::Macs, CountField::Bytes, CountField::Share});
  return fields;
}

TextColumn column_of(CountField field, CountRows rows) {
  const char* heading = count_fields()[static_cast<std::size_t>(field)].heading;
  switch (field) {
    case CountField::Name:
      return {.title = rows == CountRows::Layers    ? heading
                       : rows == CountRows::Modules ? "module"
                                                    : "op",
              .shrinks = true,
              .narrowest = 14};
    case CountField::Op:
      return {.title = heading, .shrinks = true, .narrowest = 8};
    case CountField::Output:
      return {.title = heading, .shrinks = true, .narrowest = 12};
    default:
      return {.title = heading, .is_number = true};
  }
}

// A table of rows with the chosen fields; names are shown as `names` has them.
class CountRowsTable {
 public:
  CountRowsTable(const CountResult& result, const CountTableOptions& options)
      : totals_(result.cost.totals),
        is_grouped_(options.rows != CountRows::Layers),
        names_(display_names(result)),
        fields_(fields_of(options)),
        table_(columns(options.rows)) {}

  void add(const CountRow& row) { add_cells(row, names_.of(row.cost.name)); }

  // Figures only, with a title of its own.
  void add_sum(const std::string& title, const LayerCost& sum) {
    CountRow row{.cost = sum, .layers = 0};
    row.cost.answer = Answer::Counted;
    row.cost.output_shape = {};
    add_cells(row, title);
  }

  void add_rule() { table_.add_rule(); }
  std::string render(const Layout& layout) const { return table_.render(layout); }

 private:
  std::vector<TextColumn> columns(CountRows rows) const {
    std::vector<TextColumn> columns;
    for (const CountField field : fields_) columns.push_back(column_of(field, rows));
    return columns;
  }

  void add_cells(const CountRow& row, const std::string& title) {
    std::vector<std::string> cells;
    for (const CountField field : fields_) {
      cells.push_back(field == CountField::Name ? without_control_characters(title)
                                                : cell(row, field));
    }
    table_.add_row(std::move(cells));
  }

  std::string cell(const CountRow& row, CountField field) const {
    const LayerCost& cost = row.cost;
    const bool is_unknown = cost.answer == Answer::Unknown;
    const auto figure = [&](const std::string& text) {
      if (!is_unknown) return text;
      return is_grouped_ ? "≥" + text : std::string("unknown");
    };
    switch (field) {
      case CountField::Name:
        return cost.name;
      case CountField::Op:
        return op_text(cost);
      case CountField::Layers:
        return row.layers == 0 ? "" : with_thousands(row.layers);
      case CountField::Output:
        return row.layers == 1 && !is_grouped_ ? shape_text(cost) : "";
      case CountField::Parameters:
        return compact(cost.parameters);
      case CountField::Macs:
        return figure(compact(cost.macs));
      case CountField::EffectiveMacs:
        return figure(compact(cost.effective_macs));
      case CountField::Flops:
        return figure(compact(cost.flops));
      case CountField::Read:
        return figure(compact_bytes(cost.bytes_read));
      case CountField::Written:
        return figure(compact_bytes(cost.bytes_written));
      case CountField::Bytes:
        return figure(compact_bytes(traffic_of(cost)));
      case CountField::ParameterBytes:
        return compact_bytes(cost.parameter_bytes);
      case CountField::Activations:
        return figure(compact_bytes(cost.activation_bytes));
      case CountField::Share:
        return is_unknown && !is_grouped_ ? "?" : percent_text(share_of(cost, totals_));
    }
    return "";
  }

  const CostTotals& totals_;
  bool is_grouped_ = false;
  DisplayNames names_;
  Fields fields_;
  TextTable table_;
};

LayerCost sum_of(const CostTotals& totals) {
  LayerCost sum{.name = "total", .op = ""};
  sum.parameters = totals.parameters;
  sum.macs = totals.macs;
  sum.effective_macs = totals.effective_macs;
  sum.flops = totals.flops;
  sum.bytes_read = totals.bytes_read;
  sum.bytes_written = totals.bytes_written;
  sum.parameter_bytes = totals.parameter_bytes;
  sum.activation_bytes = totals.activation_bytes;
  return sum;
}

void add_rest(CountRowsTable& table, const CountResult& result, const std::vector<CountRow>& shown,
              std::size_t all) {
  if (shown.size() == all) return;
  LayerCost rest = sum_of(result.cost.totals);
  for (const CountRow& row : shown) {
    for (const auto& column : figure_columns()) {
      rest.*column.figure -= row.cost.*column.figure;
    }
  }
  const auto hidden = static_cast<std::int64_t>(all - shown.size());
  table.add_sum(fmt::format("({} more)", with_thousands(hidden)), rest);
}

std::string line(const char* label, std::int64_t number, const std::string& remark) {
  return without_control_characters(fmt::format("{:<18}{:>20}{}{}", label, with_thousands(number),
                                                remark.empty() ? "" : "   ", remark)) +
         "\n";
}

std::string totals_text(const CountResult& result) {
  const CostTotals& totals = result.cost.totals;
  const std::string width =
      result.stored_as ? fmt::format(" as {}", name(*result.stored_as)) : std::string();
  std::string text =
      line("parameters", totals.parameters, binary_text(totals.parameter_bytes) + width);
  if (totals.statistics > 0) {
    text += line("statistics", totals.statistics,
                 binary_text(totals.statistics_bytes) + ", of batch norms");
  }
  if (totals.constants > 0) {
    text += line("constants", totals.constants, binary_text(totals.constants_bytes));
  }
  const std::string skipped =
      totals.effective_macs == totals.macs
          ? ""
          : fmt::format("{} without padding", with_thousands(totals.effective_macs));
  text += line("MACs", totals.macs, skipped);
  text += line("FLOPs", totals.flops, "");
  text += line("activation bytes", totals.activation_bytes,
               binary_text(totals.activation_bytes) + width);
  if (result.memory.computed_weight_bytes > 0) {
    text += line("computed weights", result.memory.computed_weight_bytes,
                 binary_text(result.memory.computed_weight_bytes) + ", made from constants");
  }
  text += line("peak activations", result.memory.peak_activation_bytes,
               fmt::format("{}{}, lower bound {}", binary_text(result.memory.peak_activation_bytes),
                           width, binary_text(result.memory.lower_bound_bytes)));
  return text;
}

std::string uncounted_text(const CountResult& result) {
  constexpr std::size_t kMostNamed = 10;
  const auto& uncounted = result.cost.uncounted;
  if (uncounted.empty()) return "";
  std::string text =
      fmt::format("\nNot counted ({}), so the totals are a lower bound:\n", uncounted.size());
  for (std::size_t i = 0; i < std::min(kMostNamed, uncounted.size()); ++i) {
    const auto& [op, node, reason] = uncounted[i];
    const std::string said = fmt::format("  {} '{}': {}", op, node, reason);
    text += shortened(without_control_characters(said), kTableWidth) + "\n";
  }
  if (uncounted.size() > kMostNamed)
    text += fmt::format("  and {} more\n", uncounted.size() - kMostNamed);
  return text;
}

constexpr const char* kConvention =
    "One multiply-add is 1 MAC and 2 FLOPs; FLOPs add biases, norms, activations.\n";

}  // namespace

std::string count_table(const CountResult& result, const CountTableOptions& options) {
  CountTableOptions chosen = options;
  chosen.top = 0;
  const std::size_t all = chosen_rows(result, chosen, true).size();
  chosen.top = options.top;
  if (!options.top && all > kLongestTable) chosen.top = kShownOfALongTable;
  const auto rows = chosen_rows(result, chosen, true);
  CountRowsTable table(result, options);
  for (const CountRow& row : rows) table.add(row);
  add_rest(table, result, rows, all);
  table.add_rule();
  table.add_sum("total", sum_of(result.cost.totals));
  return headline(result.model) + "\n" + table.render(options.layout) + "\n" + totals_text(result) +
         uncounted_text(result) + "\n" + kConvention;
}

}  // namespace assay
