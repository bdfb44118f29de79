#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "report/charts/label_places.h"
#include "report/charts/lettering.h"
#include "report/charts/palette.h"
#include "report/charts/scatter_layout.h"

namespace assay::report {

namespace {

constexpr double kScatterMargin = 28;
constexpr Point kScatterPlot{84, 96};
constexpr Size kScatterPlotSize{480, 320};
constexpr double kScatterBottom = kScatterPlot.y + kScatterPlotSize.height;
constexpr double kScatterRight = kScatterPlot.x + kScatterPlotSize.width;
constexpr double kScatterLegend = kScatterRight + 26;
constexpr double kScatterLegendWidth = 150;
constexpr Size kScatterPicture{kScatterLegend + kScatterLegendWidth + kScatterMargin,
                               kScatterBottom + 66};
constexpr double kLargestMarker = 5.6;
constexpr double kSmallestMarker = 2.2;
constexpr double kSamePlace = 1.5;               // points closer than this share a label
constexpr std::size_t kMostPointsLabelled = 80;  // beyond, only those that matter
constexpr std::size_t kMostGroups = 8;           // in the legend

const TextStyle kScatterTitle{.size = 15, .is_bold = true, .colour = palette::kInk};
const TextStyle kScatterSubtitle{.size = 9.5, .colour = palette::kQuietInk};
const TextStyle kScatterTick{.size = 8.5, .colour = palette::kQuietInk, .anchor = Anchor::Middle};
const TextStyle kScatterAxis{.size = 9.5, .colour = palette::kInk, .anchor = Anchor::Middle};
const TextStyle kScatterLabel{.size = 8, .colour = palette::kInk, .anchor = Anchor::Middle};
const TextStyle kScatterStrong{
    .size = 8.5, .is_bold = true, .colour = palette::kInk, .anchor = Anchor::Middle};
const TextStyle kScatterLegendText{.size = 8.5, .colour = palette::kInk};
const TextStyle kScatterNote{.size = 8, .colour = palette::kQuietInk};

constexpr double kRing = 3.5;  // around the recommended point

class ScatterPicture {
 public:
  ScatterPicture(Canvas& canvas, const ScatterChart& chart)
      : canvas_(canvas),
        chart_(chart),
        layout_(scatter_layout(chart)),
        everything_(kScatterPlot, kScatterPlotSize),
        labels_(kScatterPlot, kScatterPlotSize) {}

  void draw();

 private:
  Point at(double x, double y) const {
    return {kScatterPlot.x + kScatterPlotSize.width * layout_.x.place(x),
            kScatterBottom - kScatterPlotSize.height * layout_.y.place(y)};
  }
  Colour colour_of(const ScatterPoint& point) const {
    return point.group < chart_.groups.size() ? chart_.groups[point.group].colour : palette::kFrame;
  }
  bool is_crowded() const { return layout_.points.size() > kMostPointsLabelled; }
  double marker_radius(const ScatterPoint& point) const {
    const double largest = is_crowded() ? 0.7 * kLargestMarker : kLargestMarker;
    return std::max(kSmallestMarker, largest * std::sqrt(std::clamp(point.share, 0.0, 1.0)));
  }
  double taken_radius(const ScatterPoint& point) const {
    return marker_radius(point) + (point.standing == Standing::Recommended ? kRing + 1 : 0.5);
  }
  std::string whole_label(const std::vector<std::size_t>& cluster) const;

  void draw_scatter_headings();
  void draw_scatter_frame();
  void draw_cost_axis();
  void draw_worth_axis();
  void draw_limit();
  void label_limit(const std::string& text, double x);
  void draw_frontier();
  void draw_intervals(const ScatterPoint& point);
  void draw_marker(Point centre, double radius, const ScatterPoint& point);
  void draw_markers();
  void label_clusters();
  bool label_cluster(const std::vector<std::size_t>& cluster);
  void draw_scatter_legend();
  void legend_of_groups(double& baseline);
  void legend_of_standings(double& baseline);
  void legend_line(double& baseline, const std::string& text);

  Canvas& canvas_;
  const ScatterChart& chart_;
  ScatterLayout layout_;
  std::vector<std::vector<std::size_t>> clusters_;
  LabelPlaces everything_;
  LabelPlaces labels_;  // and markers
  std::size_t unlabelled_ = 0;
};

void ScatterPicture::draw_scatter_headings() {
  const double width = kScatterPicture.width - 2 * kScatterMargin;
  canvas_.text({kScatterMargin, kScatterMargin + 12}, fitted(chart_.title, width, kScatterTitle),
               kScatterTitle);
  canvas_.text({kScatterMargin, kScatterMargin + 29},
               fitted(chart_.subtitle, width, kScatterSubtitle), kScatterSubtitle);
}

void ScatterPicture::draw_scatter_frame() {
  canvas_.line(kScatterPlot, {kScatterPlot.x, kScatterBottom}, {palette::kFrame, 1});
  canvas_.line({kScatterPlot.x, kScatterBottom}, {kScatterRight, kScatterBottom},
               {palette::kFrame, 1});
  canvas_.text({kScatterPlot.x + kScatterPlotSize.width / 2, kScatterBottom + 34},
               fitted(chart_.x_title, kScatterPlotSize.width, kScatterAxis), kScatterAxis);
  TextStyle upright = kScatterAxis;
  upright.rotation = 90;
  canvas_.text({kScatterMargin + 8, kScatterPlot.y + kScatterPlotSize.height / 2},
               fitted(chart_.y_title, kScatterPlotSize.height, upright), upright);
}

void ScatterPicture::draw_cost_axis() {
  for (const Tick& tick : layout_.x.ticks()) {
    const double x = at(tick.number, layout_.y.low).x;
    if (!tick.text.empty()) {
      canvas_.line({x, kScatterPlot.y}, {x, kScatterBottom}, {palette::kGrid, 0.8});
    }
    canvas_.line({x, kScatterBottom}, {x, kScatterBottom + (tick.text.empty() ? 2 : 4)},
                 {palette::kFrame, 0.8});
    canvas_.text({x, kScatterBottom + 15}, tick.text, kScatterTick);
  }
}

void ScatterPicture::draw_worth_axis() {
  for (const Tick& tick : ticks_of(layout_.y, 8)) {
    const double y = at(layout_.x.low, tick.number).y;
    canvas_.line({kScatterPlot.x, y}, {kScatterRight, y}, {palette::kGrid, 0.8});
    canvas_.line({kScatterPlot.x - 4, y}, {kScatterPlot.x, y}, {palette::kFrame, 0.8});
    canvas_.text({kScatterPlot.x - 8, y + 3}, tick.text, anchored(kScatterTick, Anchor::End));
  }
}

// Above the plot, where no point is.
void ScatterPicture::label_limit(const std::string& text, double x) {
  const std::string shown = fitted(text, kScatterPlotSize.width, kScatterNote);
  const double half = text_width(shown, kScatterNote) / 2;
  canvas_.text(
      {std::clamp(x, kScatterPlot.x + half, std::max(kScatterRight - half, kScatterPlot.x + half)),
       kScatterPlot.y - 6},
      shown, anchored(kScatterNote, Anchor::Middle));
}

void ScatterPicture::draw_limit() {
  if (!chart_.limit) return;
  if (!layout_.shows_limit) {
    const bool is_beyond = chart_.limit->x > layout_.x.high;
    label_limit(is_beyond ? chart_.limit->label + ", beyond the right edge →"
                          : "← " + chart_.limit->label + ", beyond the left edge",
                is_beyond ? kScatterRight : kScatterPlot.x);
    return;
  }
  constexpr double kDash = 5;
  const double x = at(chart_.limit->x, layout_.y.low).x;
  canvas_.rectangle({x, kScatterPlot.y}, {kScatterRight - x, kScatterPlotSize.height},
                    see_through(palette::kGrid, 0.45));
  for (double y = kScatterPlot.y; y < kScatterBottom; y += 2 * kDash) {
    canvas_.line({x, y}, {x, std::min(y + kDash, kScatterBottom)}, {palette::kQuietInk, 1});
  }
  everything_.occupy(along({x, kScatterPlot.y}, {x, kScatterBottom}, 2));
  label_limit(chart_.limit->label, x);
}

// Whoever may pay more gets at least as much: a step at each corner.
void ScatterPicture::draw_frontier() {
  const Stroke stroke{see_through(palette::kInk, 0.55), 1.2};
  const auto draw_part = [&](Point from, Point to) {
    canvas_.line(from, to, stroke);
    everything_.occupy(along(from, to, 2));
  };
  for (std::size_t i = 0; i < chart_.frontier.size(); ++i) {
    const Point here = at(chart_.frontier[i].x, chart_.frontier[i].y);
    if (i + 1 == chart_.frontier.size()) {
      draw_part(here, {kScatterRight, here.y});
      break;
    }
    const Point next = at(chart_.frontier[i + 1].x, chart_.frontier[i + 1].y);
    draw_part(here, {next.x, here.y});
    draw_part({next.x, here.y}, next);
  }
}

void ScatterPicture::draw_intervals(const ScatterPoint& point) {
  const double opacity = point.standing == Standing::Rejected ? 0.25 : is_crowded() ? 0.3 : 0.6;
  const Stroke stroke{see_through(colour_of(point), opacity), is_crowded() ? 0.6 : 0.9};
  const auto draw_part = [&](Point low, Point high) {
    canvas_.line(low, high, stroke);
    everything_.occupy(along(low, high, 1.5));
  };
  draw_part(at(point.x, point.y_low), at(point.x, point.y_high));
  if (point.x_low < point.x_high) draw_part(at(point.x_low, point.y), at(point.x_high, point.y));
}

void ScatterPicture::draw_marker(Point centre, double radius, const ScatterPoint& point) {
  const Colour colour = colour_of(point);
  constexpr Colour kWhite{255, 255, 255};
  if (point.standing == Standing::Rejected) {
    canvas_.circle(centre, radius, kWhite, {see_through(colour, 0.55), 1}, point.label);
  } else {
    canvas_.circle(centre, radius, see_through(colour, 0.9), {kWhite, 0.7}, point.label);
  }
  if (point.standing == Standing::Recommended) {
    canvas_.circle(centre, radius + kRing, see_through(kWhite, 0), {palette::kInk, 1.5},
                   point.label);
  }
}

// Points in the same place are drawn inside each other, the most important innermost.
void ScatterPicture::draw_markers() {
  constexpr std::size_t kMostRings = 3;
  std::vector<Point> places;
  for (const ScatterPoint& point : layout_.points) places.push_back(at(point.x, point.y));
  clusters_ = clusters_of(layout_.points, places, kSamePlace);
  for (auto cluster = clusters_.rbegin(); cluster != clusters_.rend(); ++cluster) {
    for (std::size_t depth = std::min(cluster->size(), kMostRings); depth-- > 0;) {
      const std::size_t index = (*cluster)[depth];
      const ScatterPoint& point = layout_.points[index];
      const double wider = 2.4 * static_cast<double>(depth);
      draw_marker(places[index], marker_radius(point) + wider, point);
      const Quad taken = around(places[index], taken_radius(point) + wider);
      everything_.occupy(taken);
      labels_.occupy(taken);
    }
  }
}

std::string ScatterPicture::whole_label(const std::vector<std::size_t>& cluster) const {
  const std::string& first = layout_.points[cluster.front()].label;
  if (cluster.size() == 1) return first;
  const bool is_same =
      std::ranges::all_of(cluster, [&](std::size_t i) { return layout_.points[i].label == first; });
  if (is_same) return fmt::format("{} × {}", cluster.size(), first);
  return fmt::format("{} and {} more", first, cluster.size() - 1);
}

bool ScatterPicture::label_cluster(const std::vector<std::size_t>& cluster) {
  const ScatterPoint& point = layout_.points[cluster.front()];
  const bool is_recommended = point.standing == Standing::Recommended;
  const TextStyle& style = is_recommended ? kScatterStrong : kScatterLabel;
  const std::string text = fitted(whole_label(cluster), kScatterPlotSize.width / 2, style);
  if (text.empty()) return true;
  const Size size{text_width(text, style) + 3, style.size + 1};
  const double radius = taken_radius(point);
  const Point centre = at(point.x, point.y);
  auto spot = free_spot(everything_, centre, radius, size);
  if (!spot) spot = free_spot(labels_, centre, radius, size);
  if (!spot || (is_crowded() && !is_recommended && !spot->is_close)) return false;
  everything_.occupy(spot->quad);
  labels_.occupy(spot->quad);
  canvas_.text({spot->foot.x, spot->foot.y - 2}, text, style);
  if (!spot->is_close) canvas_.line(spot->line_from, spot->line_to, {palette::kQuietInk, 0.5});
  return true;
}

void ScatterPicture::label_clusters() {
  for (const auto& cluster : clusters_) {
    const Standing standing = layout_.points[cluster.front()].standing;
    const bool matters = standing == Standing::Recommended || standing == Standing::Frontier;
    if ((is_crowded() && !matters) || !label_cluster(cluster)) unlabelled_ += cluster.size();
  }
}

void ScatterPicture::legend_line(double& baseline, const std::string& text) {
  canvas_.text({kScatterLegend + 20, baseline},
               fitted(text, kScatterLegendWidth - 20, kScatterLegendText), kScatterLegendText);
  baseline += 16;
}

void ScatterPicture::legend_of_groups(double& baseline) {
  std::size_t shown = 0;
  for (std::size_t i = 0; i < chart_.groups.size(); ++i) {
    const auto count = std::ranges::count(layout_.points, i, &ScatterPoint::group);
    if (count == 0) continue;
    if (shown++ == kMostGroups) {
      legend_line(baseline, "and others");
      break;
    }
    canvas_.circle({kScatterLegend + 8, baseline - 3}, 4.5, chart_.groups[i].colour,
                   {{255, 255, 255}, 0.7}, chart_.groups[i].name);
    legend_line(baseline, fmt::format("{} ({})", chart_.groups[i].name, count));
  }
  baseline += 8;
}

void ScatterPicture::legend_of_standings(double& baseline) {
  const auto rejected =
      std::ranges::count(layout_.points, Standing::Rejected, &ScatterPoint::standing);
  const auto accepted = static_cast<std::ptrdiff_t>(layout_.points.size()) - rejected;
  const double x = kScatterLegend + 8;
  if (accepted > 0) {
    canvas_.circle({x, baseline - 3}, 4, palette::kQuietInk, {{255, 255, 255}, 0.7}, "");
    legend_line(baseline, fmt::format("accepted ({})", accepted));
  }
  if (rejected > 0) {
    canvas_.circle({x, baseline - 3}, 4, {255, 255, 255}, {palette::kFrame, 1}, "");
    legend_line(baseline, fmt::format("not accepted ({})", rejected));
  }
  if (layout_.points.back().standing == Standing::Recommended) {
    canvas_.circle({x, baseline - 3}, 2.5, palette::kQuietInk, {{255, 255, 255}, 0.7}, "");
    canvas_.circle({x, baseline - 3}, 5.5, {255, 255, 255, 0}, {palette::kInk, 1.4}, "");
    legend_line(baseline, "recommended");
  }
  if (!chart_.frontier.empty()) {
    const Stroke stroke{see_through(palette::kInk, 0.55), 1.2};
    canvas_.line({x - 8, baseline}, {x, baseline}, stroke);
    canvas_.line({x, baseline}, {x, baseline - 6}, stroke);
    canvas_.line({x, baseline - 6}, {x + 8, baseline - 6}, stroke);
    legend_line(baseline, "Pareto frontier");
  }
  canvas_.line({x, baseline - 8}, {x, baseline + 2}, {palette::kQuietInk, 0.9});
  legend_line(baseline, "95 % interval");
  baseline += 8;
}

void ScatterPicture::draw_scatter_legend() {
  double baseline = kScatterPlot.y + 8;
  legend_of_groups(baseline);
  legend_of_standings(baseline);
  std::vector<std::string> notes = chart_.notes;
  if (unlabelled_ > 0) notes.push_back(fmt::format("{} without a label", unlabelled_));
  if (layout_.left_out > 0) notes.push_back(fmt::format("{} left out", layout_.left_out));
  for (const std::string& note : notes) {
    canvas_.text({kScatterLegend, baseline}, fitted(note, kScatterLegendWidth, kScatterNote),
                 kScatterNote);
    baseline += 13;
  }
}

void ScatterPicture::draw() {
  draw_scatter_headings();
  if (layout_.points.empty()) {
    draw_scatter_frame();
    const Point middle{kScatterPlot.x + kScatterPlotSize.width / 2,
                       kScatterPlot.y + kScatterPlotSize.height / 2};
    canvas_.text(middle, fitted(chart_.if_empty, kScatterPlotSize.width - 20, kScatterAxis),
                 anchored(kScatterAxis, Anchor::Middle));
    return;
  }
  draw_cost_axis();
  draw_worth_axis();
  draw_scatter_frame();
  draw_limit();
  draw_frontier();
  for (const ScatterPoint& point : layout_.points) draw_intervals(point);
  draw_markers();
  label_clusters();
  draw_scatter_legend();
}

}  // namespace

std::string scatter_chart_png(const ScatterChart& chart) {
  const auto canvas = png_canvas(kScatterPicture);
  ScatterPicture(*canvas, chart).draw();
  return canvas->finish();
}

std::string scatter_chart_svg(const ScatterChart& chart) {
  const auto canvas = svg_canvas(kScatterPicture, chart.title);
  ScatterPicture(*canvas, chart).draw();
  return canvas->finish();
}

}  // namespace assay::report
