#include "report/count_columns.h"

#include <algorithm>
#include <array>

#include "base/fail.h"
#include "base/text.h"

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

bool costs_something(const LayerCost& layer) {
  return layer.answer != Answer::Free || layer.parameters > 0 || layer.bytes_written > 0;
}

std::string known_sort_names() {
  const auto names = count_columns();
  return join(names, ", ");
}

void sort_by(std::vector<const LayerCost*>& layers, const std::string& key) {
  const auto descending = [&](auto projection) {
    std::ranges::stable_sort(layers, std::greater<>{}, projection);
  };
  const auto ascending = [&](auto projection) { std::ranges::stable_sort(layers, {}, projection); };
  for (const auto& column : kFigures) {
    if (key == column.name) return descending([&](const auto* l) { return l->*column.figure; });
  }
  if (key == "share") return descending([](const auto* l) { return l->flops; });
  if (key == "name") return ascending([](const auto* l) { return l->name; });
  if (key == "op") return ascending([](const auto* l) { return l->op; });
  const auto names = count_columns();
  const auto near = nearest(key, names);
  fail_usage("`sort` {}: no such column{}; there are {}", key,
             near ? fmt::format(", did you mean '{}'?", *near) : "", known_sort_names());
}

}  // namespace

std::span<const CountColumn> report::figure_columns() {
  return kFigures;
}

std::vector<std::string> count_columns() {
  std::vector<std::string> names = {"name", "op"};
  for (const auto& column : kFigures) names.emplace_back(column.name);
  names.emplace_back("share");
  return names;
}

double report::share_of(const LayerCost& layer, const CostTotals& totals) {
  if (totals.flops == 0) return 0.0;
  return static_cast<double>(layer.flops) / static_cast<double>(totals.flops);
}

std::string report::shape_text(const LayerCost& layer) {
  return layer.output_shape ? layer.output_shape->to_string() : "?";
}

std::vector<const LayerCost*> report::chosen_layers(const CountResult& result,
                                                    const CountTableOptions& options,
                                                    bool hide_free) {
  std::vector<const LayerCost*> layers;
  for (const LayerCost& layer : result.cost.layers) {
    if (!hide_free || costs_something(layer)) layers.push_back(&layer);
  }
  if (options.sort) sort_by(layers, *options.sort);
  const std::size_t top = options.top.value_or(0);
  if (top == 0 || layers.size() <= top) return layers;
  if (!options.sort) sort_by(layers, result.cost.totals.flops > 0 ? "flops" : "bytes_written");
  layers.resize(top);
  return layers;
}

}  // namespace assay
