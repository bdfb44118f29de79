#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <ranges>

#include "assay/roofline_chart.h"
#include "report/charts/canvas.h"
#include "report/charts/label_places.h"
#include "report/charts/lettering.h"
#include "report/charts/palette.h"
#include "report/charts/roofline_layout.h"
#include "report/figures.h"

namespace assay {

using namespace assay::report;

namespace {

constexpr double kRooflineMargin = 30;
constexpr Point kPlot{92, 84};
constexpr Size kPlotSize{470, 360};
constexpr double kLegendLeft = kPlot.x + kPlotSize.width + 28;
constexpr double kLegendWidth = 250;
constexpr Size kPicture{kLegendLeft + kLegendWidth + kRooflineMargin,
                        kPlot.y + kPlotSize.height + 74};
constexpr std::size_t kLetteredPoints = 14;
constexpr double kLargestRadius = 17;  // of a layer that takes all the time
constexpr double kSmallestRadius = 2.6;
constexpr double kRoomForALetter = 7;

const TextStyle kRooflineTitle{.size = 15, .is_bold = true, .colour = palette::kInk};
const TextStyle kRooflineSubtitle{.size = 10, .colour = palette::kQuietInk};
const TextStyle kTickText{.size = 8.5, .colour = palette::kQuietInk, .anchor = Anchor::Middle};
const TextStyle kAxisText{.size = 9.5, .colour = palette::kInk, .anchor = Anchor::Middle};
const TextStyle kRoofText{.size = 8.5, .colour = palette::kInk, .anchor = Anchor::Middle};
const TextStyle kLetterText{
    .size = 8.5, .is_bold = true, .colour = palette::kInk, .anchor = Anchor::Middle};
const TextStyle kLegendText{.size = 8.5, .colour = palette::kInk};
const TextStyle kLegendHead{.size = 9, .is_bold = true, .colour = palette::kInk};
const TextStyle kNote{.size = 8, .colour = palette::kQuietInk};

constexpr Colour kColours[] = {palette::kBlue,  palette::kOrange,    palette::kPurple,
                               palette::kGreen, palette::kVermilion, palette::kSky};
constexpr std::size_t kColouredBounds = std::size(kColours);

Colour bound_colour(const std::string& bound, const std::vector<std::string>& bounds) {
  const auto at = static_cast<std::size_t>(std::ranges::find(bounds, bound) - bounds.begin());
  return at < kColouredBounds ? kColours[at] : palette::kFrame;
}

double radius_of(const RooflinePoint& point) {
  return std::max(kSmallestRadius, kLargestRadius * std::sqrt(point.time_share));
}

std::string hint_of(const RooflinePoint& point) {
  return fmt::format("{}: {} of the time, {} GFLOP/s at {} FLOP/byte{}{}", point.name,
                     share_text(point.time_share), any_rate_text(point.gflops),
                     any_rate_text(point.intensity), point.bound.empty() ? "" : ", ", point.bound);
}

class RooflinePicture {
 public:
  RooflinePicture(Canvas& canvas, const RooflineChart& chart)
      : canvas_(canvas),
        chart_(chart),
        layout_(layout_of(chart)),
        bounds_(bounds_of(layout_.points)),
        places_(kPlot, kPlotSize),
        letters_(kPlot, kPlotSize) {}

  void draw() {
    draw_headings();
    draw_axes();
    draw_roofs();
    draw_points();
    label_points();
    label_roofs();
    draw_legend();
  }

 private:
  Point at(double intensity, double gflops) const {
    return {kPlot.x + kPlotSize.width * layout_.intensity.place(intensity),
            kPlot.y + kPlotSize.height * (1 - layout_.gflops.place(gflops))};
  }
  Point at(const RooflinePoint& point) const { return at(point.intensity, point.gflops); }
  Point start(const Roof& roof) const { return at(roof.from, roof.gflops_at(roof.from)); }
  Point end(const Roof& roof) const { return at(roof.to, roof.gflops_at(roof.to)); }

  void draw_headings();
  void draw_axes();
  void draw_intensity_axis();
  void draw_gflops_axis();
  void draw_roofs();
  void label_roofs();
  bool label_roof(const Roof& roof);
  void draw_points();
  void label_points();
  void take(const Quad& quad);
  bool label_point(const RooflinePoint& point, const std::string& text, const LabelPlaces& places);
  void draw_legend();
  void legend_of_bounds(double& baseline);
  void legend_of_points(double& baseline);
  void legend_of_roofs(double& baseline);

  Canvas& canvas_;
  const RooflineChart& chart_;
  RooflineLayout layout_;
  std::vector<std::string> bounds_;
  LabelPlaces places_;   // everything drawn
  LabelPlaces letters_;  // letters only
  std::vector<std::string> unlabelled_roofs_;
};

void RooflinePicture::draw_headings() {
  const double width = kPicture.width - 2 * kRooflineMargin;
  canvas_.text({kRooflineMargin, kRooflineMargin + 12}, fitted(chart_.title, width, kRooflineTitle),
               kRooflineTitle);
  canvas_.text({kRooflineMargin, kRooflineMargin + 30},
               fitted(chart_.machine, width, kRooflineSubtitle), kRooflineSubtitle);
}

void RooflinePicture::draw_intensity_axis() {
  const double bottom = kPlot.y + kPlotSize.height;
  for (const Tick& tick : ticks_of(layout_.intensity, 10)) {
    const double x = at(tick.number, layout_.gflops.low).x;
    if (!tick.text.empty()) canvas_.line({x, kPlot.y}, {x, bottom}, {palette::kGrid, 0.8});
    canvas_.line({x, bottom}, {x, bottom + (tick.text.empty() ? 2 : 4)}, {palette::kFrame, 0.8});
    canvas_.text({x, bottom + 15}, tick.text, kTickText);
  }
  canvas_.text({kPlot.x + kPlotSize.width / 2, bottom + 34}, "arithmetic intensity, FLOP per byte",
               kAxisText);
}

void RooflinePicture::draw_gflops_axis() {
  for (const Tick& tick : ticks_of(layout_.gflops, 10)) {
    const double y = at(layout_.intensity.low, tick.number).y;
    if (!tick.text.empty()) {
      canvas_.line({kPlot.x, y}, {kPlot.x + kPlotSize.width, y}, {palette::kGrid, 0.8});
    }
    canvas_.line({kPlot.x - (tick.text.empty() ? 2 : 4), y}, {kPlot.x, y}, {palette::kFrame, 0.8});
    canvas_.text({kPlot.x - 8, y + 3}, tick.text, anchored(kTickText, Anchor::End));
  }
  TextStyle upright = kAxisText;
  upright.rotation = 90;
  canvas_.text({kRooflineMargin + 8, kPlot.y + kPlotSize.height / 2}, "GFLOP/s", upright);
}

void RooflinePicture::draw_axes() {
  draw_intensity_axis();
  draw_gflops_axis();
  const double bottom = kPlot.y + kPlotSize.height;
  canvas_.line(kPlot, {kPlot.x, bottom}, {palette::kFrame, 1});
  canvas_.line({kPlot.x, bottom}, {kPlot.x + kPlotSize.width, bottom}, {palette::kFrame, 1});
}

void RooflinePicture::draw_roofs() {
  for (const Roof& roof : layout_.roofs) {
    canvas_.line(start(roof), end(roof), {palette::kQuietInk, 1.3});
    places_.occupy(along(start(roof), end(roof), 2));
  }
}

void RooflinePicture::draw_points() {
  for (const RooflinePoint& point : layout_.points) {
    const Colour colour = bound_colour(point.bound, bounds_);
    canvas_.circle(at(point), radius_of(point), see_through(colour, 0.55),
                   {see_through(palette::kInk, 0.45), 0.6}, hint_of(point));
  }
}

// Next to the point, with a line to it if it is not close.
bool RooflinePicture::label_point(const RooflinePoint& point, const std::string& text,
                                  const LabelPlaces& places) {
  const Size size{text_width(text, kLetterText) + 1, kLetterText.size * 0.8};
  const auto spot = free_spot(places, at(point), radius_of(point), size);
  if (!spot) return false;
  take(spot->quad);
  canvas_.text(spot->foot, text, kLetterText);
  if (!spot->is_close) canvas_.line(spot->line_from, spot->line_to, {palette::kInk, 0.5});
  return true;
}

void RooflinePicture::take(const Quad& quad) {
  places_.occupy(quad);
  letters_.occupy(quad);
}

// Large points get their letters first, inside the point. A letter may cover other points, but
// never another letter.
void RooflinePicture::label_points() {
  const std::size_t count = std::min(layout_.points.size(), kLetteredPoints);
  for (const RooflinePoint& point : layout_.points) {
    places_.occupy(around(at(point), radius_of(point)));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const RooflinePoint& point = layout_.points[i];
    const Point foot{at(point).x, at(point).y + kLetterText.size * 0.4};
    const Quad inside = standing_on(foot, {kLetterText.size, kLetterText.size * 0.8});
    if (radius_of(point) >= kRoomForALetter && letters_.is_free(inside)) {
      take(inside);
      canvas_.text(foot, letter(i), kLetterText);
    } else if (!label_point(point, letter(i), places_)) {
      label_point(point, letter(i), letters_);
    }
  }
}

// Above its line, else below it: horizontal lines from the right, rising ones from the left.
bool RooflinePicture::label_roof(const Roof& roof) {
  const std::string text = fitted(roof.label, kPlotSize.width / 2, kRoofText);
  const Size size{text_width(text, kRoofText) + 4, kRoofText.size + 1.5};
  const double lift = 2.3;  // of the baseline within that space
  const Point from = start(roof);
  const Point to = end(roof);
  TextStyle style = kRoofText;
  style.rotation = std::atan2(from.y - to.y, to.x - from.x) * 180 / std::numbers::pi;
  const double angle = style.rotation * std::numbers::pi / 180;
  for (const double up : {1.2, -size.height - 1.2}) {  // nothing may come between it and its line
    for (int step = 2; step < 200; ++step) {
      const double fraction = roof.is_bandwidth ? step / 200.0 : 1 - step / 200.0;
      const Point foot{from.x + (to.x - from.x) * fraction - up * std::sin(angle),
                       from.y + (to.y - from.y) * fraction - up * std::cos(angle)};
      const Quad quad = standing_on(foot, size, style.rotation);
      if (!places_.is_free(quad)) continue;
      places_.occupy(quad);
      canvas_.text({foot.x - lift * std::sin(angle), foot.y - lift * std::cos(angle)}, text, style);
      return true;
    }
  }
  return false;
}

void RooflinePicture::label_roofs() {
  for (const Roof& roof : layout_.roofs) {
    if (!label_roof(roof)) unlabelled_roofs_.push_back(roof.label);
  }
}

void RooflinePicture::legend_of_bounds(double& baseline) {
  for (const std::string& bound : bounds_ | std::views::take(kColouredBounds)) {
    const auto count = std::ranges::count(layout_.points, bound, &RooflinePoint::bound);
    if (count == 0) continue;
    canvas_.circle({kLegendLeft + 5, baseline - 3}, 4.5,
                   see_through(bound_colour(bound, bounds_), 0.55),
                   {see_through(palette::kInk, 0.45), 0.6}, bound);
    const std::string text =
        fmt::format("{} ({})", bound.empty() ? "bound not known" : bound, count);
    canvas_.text({kLegendLeft + 16, baseline}, fitted(text, kLegendWidth - 16, kLegendText),
                 kLegendText);
    baseline += 15;
  }
  if (layout_.points.empty()) return;
  canvas_.text({kLegendLeft, baseline}, "area: share of the time", kNote);
  baseline += 24;
}

void RooflinePicture::legend_of_points(double& baseline) {
  if (layout_.points.empty()) return;
  const double right = kLegendLeft + kLegendWidth;
  canvas_.text({kLegendLeft, baseline}, "Most time", kLegendHead);
  canvas_.text({right - 52, baseline}, "GFLOP/s", anchored(kNote, Anchor::End));
  canvas_.text({right, baseline}, "time", anchored(kNote, Anchor::End));
  baseline += 15;
  std::vector<std::string> names;
  for (const RooflinePoint& point : layout_.points | std::views::take(kLetteredPoints)) {
    names.push_back(point.name.empty() ? "(unnamed)" : point.name);
  }
  const auto shown = fitted_apart(names, kLegendWidth - 116, kLegendText);
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const RooflinePoint& point = layout_.points[i];
    canvas_.text({kLegendLeft + 5, baseline}, letter(i), kLetterText);
    canvas_.text({kLegendLeft + 16, baseline}, shown[i], kLegendText);
    canvas_.text({right - 52, baseline}, any_rate_text(point.gflops),
                 anchored(kLegendText, Anchor::End));
    canvas_.text({right, baseline}, share_text(point.time_share),
                 anchored(kLegendText, Anchor::End));
    baseline += 14;
  }
  const std::size_t others =
      layout_.points.size() - std::min(layout_.points.size(), kLetteredPoints);
  if (others > 0) {
    canvas_.text({kLegendLeft + 16, baseline}, fmt::format("and {} more", others), kNote);
    baseline += 14;
  }
  baseline += 10;
}

void RooflinePicture::legend_of_roofs(double& baseline) {
  if (unlabelled_roofs_.empty()) return;
  canvas_.text({kLegendLeft, baseline}, "Lines without a label", kLegendHead);
  for (std::size_t i = 0; i < unlabelled_roofs_.size(); ++i) {
    baseline += 14;
    if (baseline + 14 > kPicture.height - kRooflineMargin) {
      const std::size_t others = unlabelled_roofs_.size() - i;
      canvas_.text({kLegendLeft, baseline}, fmt::format("and {} more", others), kNote);
      return;
    }
    canvas_.text({kLegendLeft, baseline}, fitted(unlabelled_roofs_[i], kLegendWidth, kLegendText),
                 kLegendText);
  }
}

void RooflinePicture::draw_legend() {
  double baseline = kPlot.y + 8;
  legend_of_bounds(baseline);
  legend_of_points(baseline);
  legend_of_roofs(baseline);
  canvas_.text({kPlot.x, kPicture.height - kRooflineMargin + 6},
               fitted(layout_.note, kPlotSize.width, kNote), kNote);
}

}  // namespace

std::string roofline_png(const RooflineChart& chart) {
  const auto canvas = png_canvas(kPicture);
  RooflinePicture(*canvas, chart).draw();
  return canvas->finish();
}

std::string roofline_svg(const RooflineChart& chart) {
  const auto canvas = svg_canvas(kPicture, chart.title);
  RooflinePicture(*canvas, chart).draw();
  return canvas->finish();
}

}  // namespace assay
