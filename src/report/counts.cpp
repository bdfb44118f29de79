// Several models in one table, a row each.
#include <fmt/core.h>

#include "assay/count_report.h"
#include "base/text.h"
#include "report/count_columns.h"
#include "report/csv.h"
#include "report/figures.h"
#include "report/json_parts.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

std::string compact_figure(std::int64_t number) {
  std::string text = with_si_suffix(static_cast<double>(number));
  std::erase(text, ' ');
  return text;
}

// The totals are lower bounds where an op was not counted.
std::string bounded(const CountResult& result, const std::string& text) {
  return (result.cost.uncounted.empty() ? "" : "≥") + text;
}

struct TotalColumn {
  const char* name = "";
  std::int64_t (*figure)(const CountResult& result) = nullptr;
};

constexpr TotalColumn kTotals[] = {
    {"parameters", [](const CountResult& r) { return r.cost.totals.parameters; }},
    {"macs", [](const CountResult& r) { return r.cost.totals.macs; }},
    {"effective_macs", [](const CountResult& r) { return r.cost.totals.effective_macs; }},
    {"flops", [](const CountResult& r) { return r.cost.totals.flops; }},
    {"bytes_read", [](const CountResult& r) { return r.cost.totals.bytes_read; }},
    {"bytes_written", [](const CountResult& r) { return r.cost.totals.bytes_written; }},
    {"parameter_bytes", [](const CountResult& r) { return r.cost.totals.parameter_bytes; }},
    {"activation_bytes", [](const CountResult& r) { return r.cost.totals.activation_bytes; }},
    {"stored_bytes", [](const CountResult& r) { return r.memory.stored_bytes; }},
    {"peak_activation_bytes", [](const CountResult& r) { return r.memory.peak_activation_bytes; }},
};

}  // namespace

std::string counts_table(std::span<const CountResult> results, const Layout& layout) {
  TextTable table({{.title = "model", .shrinks = true, .narrowest = 14},
                   {.title = "layers", .is_number = true},
                   {.title = "params", .is_number = true},
                   {.title = "MACs", .is_number = true},
                   {.title = "FLOPs", .is_number = true},
                   {.title = "weights", .is_number = true},
                   {.title = "peak activations", .is_number = true}});
  for (const CountResult& result : results) {
    const CostTotals& totals = result.cost.totals;
    const auto layers = static_cast<std::int64_t>(chosen_rows(result, {}, true).size());
    table.add_row({without_control_characters(result.model.name), with_thousands(layers),
                   compact_figure(totals.parameters), bounded(result, compact_figure(totals.macs)),
                   bounded(result, compact_figure(totals.flops)),
                   binary_text(totals.parameter_bytes),
                   binary_text(result.memory.peak_activation_bytes)});
  }
  return table.render(layout);
}

std::string counts_json(std::span<const CountResult> results) {
  std::vector<std::string> objects;
  for (const CountResult& result : results) objects.push_back(count_json(result));
  return results_json("assay.counts/1", objects);
}

std::string counts_csv(std::span<const CountResult> results) {
  std::vector<std::string> header = {"model"};
  for (const TotalColumn& column : kTotals) header.emplace_back(column.name);
  header.emplace_back("uncounted");
  std::string text = csv_line(header);
  for (const CountResult& result : results) {
    std::vector<std::string> cells = {without_control_characters(result.model.name)};
    for (const TotalColumn& column : kTotals)
      cells.push_back(std::to_string(column.figure(result)));
    cells.push_back(std::to_string(result.cost.uncounted.size()));
    text += csv_line(cells);
  }
  return text;
}

}  // namespace assay
