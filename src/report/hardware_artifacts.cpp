#include <algorithm>
#include <numeric>
#include <span>

#include "assay/hardware_report.h"
#include "base/atomic_file.h"
#include "base/fail.h"
#include "base/text.h"
#include "report/charts/bar_chart.h"
#include "report/charts/chart_title.h"

namespace assay {

using namespace assay::report;

namespace {

using Figure = std::int64_t LayerEstimate::*;
using FigureText = std::string (*)(double);

double value_of(const LayerEstimate& layer, Figure figure) {
  return std::max(static_cast<double>(layer.*figure), 0.0);
}

// "3.06 MiB   12.0%", the share only if the total is not 0.
std::string figure_text(double value, double whole, FigureText text) {
  if (whole <= 0) return text(value);
  return fmt::format("{}   {:.1f}%", text(value), 100 * value / whole);
}

// The positions of the largest, still in the order of the model.
std::vector<std::size_t> largest(const std::vector<LayerEstimate>& layers, Figure figure,
                                 std::size_t count) {
  std::vector<std::size_t> order(layers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (order.size() <= count) return order;
  std::ranges::stable_sort(order, std::greater<>{},
                           [&](std::size_t i) { return layers[i].*figure; });
  order.resize(count);
  std::ranges::sort(order);
  return order;
}

BarChart chart_of(const std::vector<LayerEstimate>& layers, Figure figure, FigureText text,
                  const std::string& title) {
  double whole = 0;
  for (const LayerEstimate& layer : layers) whole += value_of(layer, figure);
  BarChart chart{.title = title,
                 .subtitle = fmt::format(
                     "{} layer{}, {} in all{}", layers.size(), layers.size() == 1 ? "" : "s",
                     text(whole), layers.size() > 2 && whole > 0 ? "; dark: half of it" : ""),
                 .bars = {}};
  double left = whole;
  for (const std::size_t i : largest(layers, figure, kMostBars - 1)) {
    const double value = value_of(layers[i], figure);
    chart.bars.push_back({layers[i].layer, value, figure_text(value, whole, text)});
    left -= value;
  }
  if (const std::size_t others = layers.size() - chart.bars.size(); others > 0) {
    chart.bars.push_back({fmt::format("({} smaller layers)", others), std::max(left, 0.0),
                          figure_text(std::max(left, 0.0), whole, text)});
  }
  return chart;
}

BarChart activation_chart(const std::vector<LayerEstimate>& layers, const std::string& model) {
  return chart_of(layers, &LayerEstimate::activation_bytes, with_binary_unit,
                  chart_title(model, "activation memory by layer"));
}

BarChart macs_chart(const std::vector<LayerEstimate>& layers, const std::string& model) {
  return chart_of(layers, &LayerEstimate::macs, with_si_suffix,
                  chart_title(model, "multiply-accumulates by layer"));
}

using ArtifactFiles = std::vector<std::pair<std::string, std::string>>;  // names and bytes

ArtifactFiles layer_files(const std::vector<LayerEstimate>& layers, const HardwareSummary& summary,
                          const std::string& model) {
  return {{"layerwise_breakdown.csv", layer_estimates_csv(layers)},
          {"hardware_summary.csv", hardware_summary_csv(summary)},
          {"layerwise_activation_memory.png", activation_memory_png(layers, model)},
          {"layerwise_macs.png", macs_png(layers, model)}};
}

std::vector<std::filesystem::path> written_into(const std::filesystem::path& folder,
                                                const ArtifactFiles& files) {
  make_folder(folder);
  std::vector<std::filesystem::path> paths;
  for (const auto& [file_name, bytes] : files) {
    write_file(folder / file_name, bytes);
    paths.push_back(folder / file_name);
  }
  return paths;
}

}  // namespace

std::string activation_memory_png(const std::vector<LayerEstimate>& layers,
                                  const std::string& model) {
  return bar_chart_png(activation_chart(layers, model));
}

std::string activation_memory_svg(const std::vector<LayerEstimate>& layers,
                                  const std::string& model) {
  return bar_chart_svg(activation_chart(layers, model));
}

std::string macs_png(const std::vector<LayerEstimate>& layers, const std::string& model) {
  return bar_chart_png(macs_chart(layers, model));
}

std::string macs_svg(const std::vector<LayerEstimate>& layers, const std::string& model) {
  return bar_chart_svg(macs_chart(layers, model));
}

std::vector<std::filesystem::path> save_layer_artifacts(const std::filesystem::path& folder,
                                                        const std::vector<LayerEstimate>& layers,
                                                        const HardwareSummary& summary,
                                                        const std::string& model) {
  return written_into(folder, layer_files(layers, summary, model));
}

std::vector<std::filesystem::path> save_hardware_artifacts(
    const std::filesystem::path& folder, const std::vector<LayerEstimate>& layers,
    const std::vector<PrecisionTradeoff>& precision_table, const HardwareSummary& summary,
    const std::string& model) {
  ArtifactFiles files = layer_files(layers, summary, model);
  files.insert(files.begin() + 1,
               {"precision_tradeoffs.csv", precision_tradeoff_csv(precision_table)});
  return written_into(folder, files);
}

}  // namespace assay
