#include <fmt/core.h>

#include "assay/count_report.h"
#include "base/text.h"
#include "report/count_columns.h"
#include "report/csv.h"

namespace assay {

using namespace assay::report;

namespace {

std::vector<std::string> count_header() {
  std::vector<std::string> names = {"name", "op", "output_shape"};
  for (const auto& column : figure_columns()) names.emplace_back(column.name);
  names.insert(names.end(), {"share", "answer", "note"});
  return names;
}

std::vector<std::string> cells_of(const LayerCost& layer, const CostTotals& totals) {
  const bool unknown = layer.answer == Answer::Unknown;
  std::vector<std::string> cells = {without_control_characters(layer.name),
                                    without_control_characters(layer.op), shape_text(layer)};
  for (const auto& column : figure_columns()) {
    const std::int64_t figure = layer.*column.figure;
    cells.push_back(unknown && figure == 0 ? "" : std::to_string(figure));
  }
  cells.push_back(unknown ? "" : fmt::format("{:.6f}", share_of(layer, totals)));
  cells.emplace_back(name(layer.answer));
  cells.push_back(without_control_characters(layer.note));
  return cells;
}

}  // namespace

std::string count_csv(const CountResult& result, const CountTableOptions& options) {
  std::string text = csv_line(count_header());
  for (const LayerCost* layer : chosen_layers(result, options, false)) {
    text += csv_line(cells_of(*layer, result.cost.totals));
  }
  return text;
}

}  // namespace assay
