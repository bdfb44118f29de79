#include <fmt/core.h>

#include "assay/count_report.h"
#include "base/text.h"
#include "report/count_columns.h"
#include "report/csv.h"

namespace assay {

using namespace assay::report;

namespace {

bool has_layers(const CountTableOptions& options) {
  return options.rows == CountRows::Layers;
}

std::vector<std::string> count_header(const CountTableOptions& options) {
  std::vector<std::string> names = {"name", "layers"};
  if (has_layers(options)) names = {"name", "op", "output_shape"};
  for (const auto& column : figure_columns()) names.emplace_back(column.name);
  names.emplace_back("share");
  if (has_layers(options)) names.insert(names.end(), {"answer", "note"});
  return names;
}

std::vector<std::string> cells_of(const CountRow& row, const CostTotals& totals,
                                  const CountTableOptions& options) {
  const LayerCost& layer = row.cost;
  const bool unknown = layer.answer == Answer::Unknown && has_layers(options);
  std::vector<std::string> cells = {without_control_characters(layer.name)};
  if (has_layers(options)) {
    cells.push_back(without_control_characters(layer.op));
    cells.push_back(shape_text(layer));
  } else {
    cells.push_back(std::to_string(row.layers));
  }
  for (const auto& column : figure_columns()) {
    const std::int64_t figure = layer.*column.figure;
    cells.push_back(unknown && figure == 0 ? "" : std::to_string(figure));
  }
  cells.push_back(unknown ? "" : fmt::format("{:.6f}", share_of(layer, totals)));
  if (!has_layers(options)) return cells;
  cells.emplace_back(name(layer.answer));
  cells.push_back(without_control_characters(layer.note));
  return cells;
}

}  // namespace

std::string count_csv(const CountResult& result, const CountTableOptions& options) {
  std::string text = csv_line(count_header(options));
  for (const CountRow& row : chosen_rows(result, options, false)) {
    text += csv_line(cells_of(row, result.cost.totals, options));
  }
  return text;
}

}  // namespace assay
