// The picture of a study: its first chart, as lines or as bars.
#include <array>

#include <fmt/core.h>

#include "assay/study_report.h"
#include "base/text.h"
#include "report/charts/bar_chart.h"
#include "report/charts/chart_title.h"
#include "report/charts/line_chart.h"
#include "report/charts/palette.h"
#include "report/figures.h"

namespace assay {

using namespace assay::report;

namespace {

constexpr std::array kSeriesColours = {palette::kBlue,      palette::kOrange, palette::kGreen,
                                       palette::kVermilion, palette::kSky,    palette::kPurple};

Colour series_colour(std::size_t index) {
  return kSeriesColours[index % kSeriesColours.size()];
}

const StudyChart& main_chart(const StudyReport& report) {
  return report.charts.at(0);
}

std::string study_subtitle(const StudyReport& report) {
  std::string text = report.facts.roofline ? report.facts.roofline->processor : "";
  if (report.facts.threads > 0) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", report.facts.threads,
                        report.facts.threads == 1 ? "thread" : "threads");
  }
  return text;
}

std::string study_title(const StudyReport& report) {
  return chart_title(report.facts.model ? report.facts.model->name : "", main_chart(report).title);
}

LineChart lines_of(const StudyReport& report) {
  const StudyChart& chart = main_chart(report);
  LineChart lines{.title = study_title(report),
                  .subtitle = study_subtitle(report),
                  .x_title = chart.x.label,
                  .y_title = chart.y.label,
                  .is_x_logarithmic = chart.x.is_logarithmic,
                  .is_y_logarithmic = chart.y.is_logarithmic,
                  .lines = {}};
  for (const StudySeries& series : chart.series) {
    ChartLine line{series.name, series_colour(lines.lines.size()), {}};
    for (const StudyPoint& point : series.points) {
      if (const double* x = std::get_if<double>(&point.x)) line.points.push_back({*x, point.y});
    }
    lines.lines.push_back(std::move(line));
  }
  return lines;
}

BarChart bars_of(const StudyReport& report) {
  const StudyChart& chart = main_chart(report);
  BarChart bars{.title = study_title(report), .subtitle = study_subtitle(report), .bars = {}};
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const bool is_only_one = chart.series.size() == 1;
    bars.kinds.push_back({is_only_one ? chart.y.label : chart.series[i].name, series_colour(i)});
    for (const StudyPoint& point : chart.series[i].points) {
      const std::string* name = std::get_if<std::string>(&point.x);
      bars.bars.push_back({.name = name == nullptr ? "" : *name,
                           .value = point.y,
                           .figure = any_rate_text(point.y),
                           .kind = i});
    }
  }
  return bars;
}

}  // namespace

std::string study_png(const StudyReport& report) {
  return main_chart(report).kind == StudyChart::Kind::Line ? line_chart_png(lines_of(report))
                                                           : bar_chart_png(bars_of(report));
}

std::string study_svg(const StudyReport& report) {
  return main_chart(report).kind == StudyChart::Kind::Line ? line_chart_svg(lines_of(report))
                                                           : bar_chart_svg(bars_of(report));
}

}  // namespace assay
