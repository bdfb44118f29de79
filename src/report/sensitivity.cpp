#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "assay/optimize_report.h"
#include "base/text.h"
#include "report/charts/bar_chart.h"
#include "report/charts/chart_title.h"
#include "report/csv.h"
#include "report/display_names.h"
#include "report/figures.h"
#include "report/hardware_columns.h"
#include "report/headline.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

// The error's share of the output, as amplitudes: 20 dB are a tenth.
double error_share(const LayerSensitivity& layer) {
  return std::isfinite(layer.snr_db) ? std::pow(10.0, -layer.snr_db / 20) : 0;
}

std::string decibels_text(double decibels) {
  return std::isfinite(decibels) ? fmt::format("{:.1f} dB", decibels) : "equal";
}

std::vector<LayerSensitivity> worst_first(std::vector<LayerSensitivity> layers) {
  std::ranges::stable_sort(layers, {}, &LayerSensitivity::snr_db);
  return layers;
}

NamedFigures sensitivity_figures(const LayerSensitivity& layer) {
  const bool is_finite = std::isfinite(layer.snr_db);
  return {{"layer", layer.layer},
          {"op", layer.op},
          {"snr_db", is_finite ? Json(layer.snr_db) : Json(nullptr)},
          {"agreement", layer.agreement},
          {"mean_squared_error", layer.mean_squared_error}};
}

// In the order given, without the least sensitive ones that would not fit.
std::vector<LayerSensitivity> drawn(const std::vector<LayerSensitivity>& layers) {
  if (layers.size() <= kMostBars) return layers;
  const double limit = worst_first(layers)[kMostBars - 1].snr_db;
  std::vector<LayerSensitivity> kept;
  for (const LayerSensitivity& layer : layers) {
    if (layer.snr_db <= limit && kept.size() < kMostBars) kept.push_back(layer);
  }
  return kept;
}

DisplayNames sensitive_names(const std::vector<LayerSensitivity>& layers) {
  std::vector<std::string> names;
  for (const LayerSensitivity& layer : layers) names.push_back(layer.layer);
  return DisplayNames(names);
}

}  // namespace

std::string sensitivity_table(const std::vector<LayerSensitivity>& layers, const Layout& layout) {
  TextTable table({{.title = "int8 in this layer alone", .shrinks = true, .narrowest = 12},
                   {.title = "op"},
                   {.title = "SNR", .is_number = true},
                   {.title = "error", .is_number = true},
                   {.title = "agreement", .is_number = true}});
  const auto sorted = worst_first(layers);
  const DisplayNames names = sensitive_names(layers);
  const std::size_t shown = std::min(sorted.size(), kRowsShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const LayerSensitivity& layer = sorted[i];
    table.add_row({without_control_characters(names.of(layer.layer)), layer.op,
                   decibels_text(layer.snr_db), fmt::format("{:.2f} %", 100 * error_share(layer)),
                   fmt::format("{:.2f} %", 100 * layer.agreement)});
  }
  const std::size_t left = sorted.size() - shown;
  return table.render(layout) +
         (left > 0 ? fmt::format("… and {} less sensitive layers\n", left) : "");
}

std::string sensitivity_csv(const std::vector<LayerSensitivity>& layers) {
  std::string text = csv_header(sensitivity_figures({}));
  for (const LayerSensitivity& layer : layers) text += csv_row(sensitivity_figures(layer));
  return text;
}

namespace {

BarChart sensitivity_chart(const std::vector<LayerSensitivity>& layers, const std::string& model) {
  BarChart chart{.title = chart_title(model, "sensitivity to 8 bits"),
                 .subtitle =
                     "error of the output when one layer alone is quantised, as a share of "
                     "the output; signal to noise at the right",
                 .bars = {}};
  for (const LayerSensitivity& layer : drawn(layers)) {
    chart.bars.push_back(
        {.name = layer.layer, .value = error_share(layer), .figure = decibels_text(layer.snr_db)});
  }
  return chart;
}

}  // namespace

std::string sensitivity_png(const std::vector<LayerSensitivity>& layers, const std::string& model) {
  return bar_chart_png(sensitivity_chart(layers, model));
}

std::string sensitivity_svg(const std::vector<LayerSensitivity>& layers, const std::string& model) {
  return bar_chart_svg(sensitivity_chart(layers, model));
}

}  // namespace assay
