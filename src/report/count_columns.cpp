#include "report/count_columns.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "base/checked.h"
#include "base/text.h"
#include "report/display_names.h"

namespace assay {

using namespace assay::report;

namespace {

constexpr std::array<CountColumn, 8> kFigures = {{
    {"parameters", &LayerCost::parameters},
    {"macs", &LayerCost::macs},
    {"effective_macs", &LayerCost::effective_macs},
    {"flops", &LayerCost::flops},
    {"bytes_read", &LayerCost::bytes_read},
    {"bytes_written", &LayerCost::bytes_written},
    {"parameter_bytes", &LayerCost::parameter_bytes},
    {"activation_bytes", &LayerCost::activation_bytes},
}};

constexpr std::array<ColumnName, 14> kFields = {{
    {"layer", "name"},
    {"op", "op"},
    {"layers", "layers"},
    {"output", "output_shape"},
    {"params", "parameters"},
    {"MACs", "macs"},
    {"effective MACs", "effective_macs"},
    {"FLOPs", "flops"},
    {"read", "bytes_read"},
    {"written", "bytes_written"},
    {"bytes", "bytes"},
    {"weight bytes", "parameter_bytes"},
    {"activations", "activation_bytes"},
    {"share", "share"},
}};

bool costs_something(const LayerCost& layer) {
  return layer.answer != Answer::Free || layer.parameters > 0 || layer.bytes_written > 0;
}

std::int64_t elements_of(const LayerCost& layer) {
  return layer.output_shape ? layer.output_shape->elements().value_or(0) : 0;
}

// What a column of numbers is sorted by.
std::int64_t figure_of(const CountRow& row, CountField field) {
  const LayerCost& cost = row.cost;
  switch (field) {
    case CountField::Name:
    case CountField::Op:
      return 0;
    case CountField::Layers:
      return row.layers;
    case CountField::Output:
      return elements_of(cost);
    case CountField::Bytes:
      return traffic_of(cost);
    case CountField::Share:
      return cost.flops;
    default:
      break;
  }
  const std::string_view key = kFields[static_cast<std::size_t>(field)].key;
  const auto found =
      std::ranges::find_if(kFigures, [&](const CountColumn& column) { return key == column.name; });
  return found == kFigures.end() ? 0 : cost.*found->figure;
}

void sort_by(std::vector<CountRow>& rows, CountField field) {
  const auto ascending = [&](auto projection) { std::ranges::stable_sort(rows, {}, projection); };
  if (field == CountField::Name)
    return ascending([](const CountRow& row) { return row.cost.name; });
  if (field == CountField::Op) return ascending([](const CountRow& row) { return row.cost.op; });
  std::ranges::stable_sort(rows, std::greater<>{},
                           [&](const CountRow& row) { return figure_of(row, field); });
}

CountField field_called(std::string_view what, const std::string& word) {
  return static_cast<CountField>(find_column(what, word, kFields));
}

std::string group_of(const LayerCost& layer, const CountTableOptions& options) {
  return options.rows == CountRows::Ops ? layer.op : module_of(layer.name, options.depth);
}

// In the order in which they first appear.
std::vector<CountRow> grouped(const std::vector<CountRow>& layers,
                              const CountTableOptions& options) {
  std::vector<CountRow> groups;
  std::map<std::string, std::size_t> place;
  for (const CountRow& layer : layers) {
    const std::string title = group_of(layer.cost, options);
    const auto [found, is_new] = place.emplace(title, groups.size());
    if (is_new) groups.push_back({.cost = {.name = title, .op = ""}, .layers = 0});
    CountRow& group = groups[found->second];
    if (group.cost.answer == Answer::Free) group.cost.answer = layer.cost.answer;
    add_figures(group.cost, layer.cost);
    ++group.layers;
  }
  return groups;
}

}  // namespace

std::span<const CountColumn> report::figure_columns() {
  return kFigures;
}

std::span<const ColumnName> report::count_fields() {
  return kFields;
}

std::vector<std::string> count_columns() {
  std::vector<std::string> names;
  for (const ColumnName& field : kFields) names.emplace_back(field.key);
  return names;
}

void check_count_columns(const CountTableOptions& options) {
  if (options.sort) field_called("`sort`", *options.sort);
  for (const std::string& column : options.columns) field_called("`columns`", column);
}

void report::add_figures(LayerCost& to, const LayerCost& from) {
  for (const auto& column : kFigures) {
    to.*column.figure = saturating_add(to.*column.figure, from.*column.figure);
  }
  if (from.answer == Answer::Unknown) to.answer = Answer::Unknown;
}

std::int64_t report::traffic_of(const LayerCost& layer) {
  return saturating_add(layer.bytes_read, layer.bytes_written);
}

double report::share_of(const LayerCost& layer, const CostTotals& totals) {
  if (totals.flops == 0) return 0.0;
  return static_cast<double>(layer.flops) / static_cast<double>(totals.flops);
}

std::string report::shape_text(const LayerCost& layer) {
  return layer.output_shape ? layer.output_shape->to_string() : "?";
}

std::string report::module_of(const std::string& layer, std::size_t depth) {
  auto scopes = scopes_of(layer);
  std::vector<std::string> modules = split(scopes.empty() ? layer : join(scopes, "."), '.');
  const bool ends_in_layer = scopes.empty() && modules.size() > 1;
  if (ends_in_layer) modules.pop_back();
  modules.resize(std::min(modules.size(), depth));
  return join(modules, ".");
}

std::vector<CountRow> report::chosen_rows(const CountResult& result,
                                          const CountTableOptions& options, bool hide_free) {
  std::vector<CountRow> rows;
  for (const LayerCost& layer : result.cost.layers) {
    if (!hide_free || costs_something(layer)) rows.push_back({.cost = layer});
  }
  if (options.rows != CountRows::Layers) rows = grouped(rows, options);
  if (options.sort) sort_by(rows, field_called("`sort`", *options.sort));
  const std::size_t top = options.top.value_or(0);
  if (top == 0 || rows.size() <= top) return rows;
  if (!options.sort) {
    sort_by(rows, result.cost.totals.flops > 0 ? CountField::Flops : CountField::Written);
  }
  rows.resize(top);
  return rows;
}

}  // namespace assay
