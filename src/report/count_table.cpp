#include <algorithm>

#include "assay/count_report.h"
#include "base/checked.h"
#include "base/fail.h"
#include "base/text.h"
#include "report/count_columns.h"
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

std::int64_t traffic(std::int64_t read, std::int64_t written) {
  return saturating_add(read, written);
}

// The beginning of an op's name tells it apart: "BatchNormali…".
std::string op_text(const LayerCost& layer) {
  constexpr std::size_t kWidest = 13;
  return cut_off(without_control_characters(layer.op), kWidest);
}

TextTable layer_table(const CountResult& result, const std::vector<const LayerCost*>& layers) {
  TextTable table({{.title = "layer", .shrinks = true, .narrowest = 14},
                   {.title = "op", .shrinks = true, .narrowest = 8},
                   {.title = "output", .shrinks = true, .narrowest = 12},
                   {.title = "params", .is_number = true},
                   {.title = "MACs", .is_number = true},
                   {.title = "bytes", .is_number = true},
                   {.title = "share", .is_number = true}});
  for (const LayerCost* layer : layers) {
    const bool unknown = layer->answer == Answer::Unknown;
    table.add_row(
        {without_control_characters(layer->name), op_text(*layer), shape_text(*layer),
         compact(layer->parameters), unknown ? "unknown" : compact(layer->macs),
         unknown ? "unknown" : compact_bytes(traffic(layer->bytes_read, layer->bytes_written)),
         unknown ? "?" : percent_text(share_of(*layer, result.cost.totals))});
  }
  return table;
}

void add_rest(TextTable& table, const CountResult& result,
              const std::vector<const LayerCost*>& shown, std::size_t all) {
  if (shown.size() == all) return;
  const CostTotals& totals = result.cost.totals;
  const auto hidden = static_cast<std::int64_t>(all - shown.size());
  LayerCost rest{.name = fmt::format("({} more)", with_thousands(hidden)), .op = ""};
  rest.parameters = totals.parameters;
  rest.macs = totals.macs;
  rest.flops = totals.flops;
  rest.bytes_read = traffic(totals.bytes_read, totals.bytes_written);
  for (const LayerCost* layer : shown) {
    rest.parameters -= layer->parameters;
    rest.macs -= layer->macs;
    rest.flops -= layer->flops;
    rest.bytes_read -= traffic(layer->bytes_read, layer->bytes_written);
  }
  table.add_row({rest.name, "", "", compact(rest.parameters), compact(rest.macs),
                 compact_bytes(rest.bytes_read), percent_text(share_of(rest, totals))});
}

void add_totals(TextTable& table, const CostTotals& totals) {
  table.add_rule();
  table.add_row({"total", "", "", compact(totals.parameters), compact(totals.macs),
                 compact_bytes(traffic(totals.bytes_read, totals.bytes_written)),
                 totals.flops > 0 ? "100.0%" : "-"});
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
  const std::size_t all = chosen_layers(result, {}, true).size();
  CountTableOptions shortened_options = options;
  if (!options.top && all > kLongestTable) shortened_options.top = kShownOfALongTable;
  const auto layers = chosen_layers(result, shortened_options, true);
  TextTable table = layer_table(result, layers);
  add_rest(table, result, layers, all);
  add_totals(table, result.cost.totals);
  return headline(result.model) + "\n" + table.render(kTableWidth) + "\n" + totals_text(result) +
         uncounted_text(result) + "\n" + kConvention;
}

}  // namespace assay
