#include "report/charts/line_chart.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "report/charts/axis.h"
#include "report/charts/lettering.h"
#include "report/charts/palette.h"

namespace assay::report {

namespace {

constexpr double kLineMargin = 28;
constexpr Point kLinePlot{84, 84};
constexpr Size kLinePlotSize{480, 300};
constexpr double kLineBottom = kLinePlot.y + kLinePlotSize.height;
constexpr double kLineRight = kLinePlot.x + kLinePlotSize.width;
constexpr double kLineLegend = kLineRight + 22;
constexpr double kLineLegendWidth = 150;
constexpr Size kLinePicture{kLineLegend + kLineLegendWidth + kLineMargin, kLineBottom + 62};
constexpr std::size_t kMostMarkedPoints = 40;  // of a line; beyond, markers would hide it

const TextStyle kLineTitle{.size = 15, .is_bold = true, .colour = palette::kInk};
const TextStyle kLineSubtitle{.size = 9.5, .colour = palette::kQuietInk};
const TextStyle kLineTick{.size = 8.5, .colour = palette::kQuietInk, .anchor = Anchor::Middle};
const TextStyle kLineAxis{.size = 9.5, .colour = palette::kInk, .anchor = Anchor::Middle};
const TextStyle kLineLegendText{.size = 8.5, .colour = palette::kInk};

// A linear or a logarithmic range that holds some numbers.
class LineAxis {
 public:
  LineAxis(std::vector<double> numbers, bool is_logarithmic, bool starts_at_zero)
      : is_logarithmic_(is_logarithmic) {
    if (numbers.empty()) numbers = {1, 10};
    const auto [low, high] = std::ranges::minmax(numbers);
    if (is_logarithmic) {
      const double margin = std::max(1.12, std::pow(high / low, 0.04));
      log_ = {low / margin, high * margin};
    } else {
      const double bottom = starts_at_zero ? std::min(0.0, low) : low;
      const double margin = high > bottom ? 0.05 * (high - bottom) : std::max(1.0, std::abs(high));
      linear_ = {starts_at_zero && low >= 0 ? 0 : bottom - margin, high + margin};
    }
  }

  double place(double number) const {
    return is_logarithmic_ ? log_.place(number) : linear_.place(number);
  }
  std::vector<Tick> ticks() const {
    return is_logarithmic_ ? ticks_of(log_, 8) : ticks_of(linear_, 8);
  }

 private:
  bool is_logarithmic_ = false;
  LogRange log_ = {};
  LinearRange linear_ = {};
};

bool has_place(const LineChart& chart, Point point) {
  const auto fits = [](double number, bool is_logarithmic) {
    return std::isfinite(number) && (!is_logarithmic || number > 0);
  };
  return fits(point.x, chart.is_x_logarithmic) && fits(point.y, chart.is_y_logarithmic);
}

std::vector<ChartLine> drawable_lines(const LineChart& chart) {
  std::vector<ChartLine> lines = chart.lines;
  for (ChartLine& line : lines) {
    std::erase_if(line.points, [&](Point point) { return !has_place(chart, point); });
  }
  return lines;
}

std::vector<double> numbers_of(const std::vector<ChartLine>& lines, double Point::*axis) {
  std::vector<double> numbers;
  for (const ChartLine& line : lines) {
    for (const Point& point : line.points) numbers.push_back(point.*axis);
  }
  return numbers;
}

class LinePicture {
 public:
  LinePicture(Canvas& canvas, const LineChart& chart)
      : canvas_(canvas),
        chart_(chart),
        lines_(drawable_lines(chart)),
        x_(numbers_of(lines_, &Point::x), chart.is_x_logarithmic, false),
        y_(numbers_of(lines_, &Point::y), chart.is_y_logarithmic, true) {}

  void draw() {
    draw_line_headings();
    draw_x_axis();
    draw_y_axis();
    draw_line_frame();
    for (const ChartLine& line : lines_) draw_line(line);
    draw_line_legend();
  }

 private:
  Point at(Point point) const {
    return {kLinePlot.x + kLinePlotSize.width * x_.place(point.x),
            kLineBottom - kLinePlotSize.height * y_.place(point.y)};
  }

  void draw_line_headings() {
    const double width = kLinePicture.width - 2 * kLineMargin;
    canvas_.text({kLineMargin, kLineMargin + 12}, fitted(chart_.title, width, kLineTitle),
                 kLineTitle);
    canvas_.text({kLineMargin, kLineMargin + 29}, fitted(chart_.subtitle, width, kLineSubtitle),
                 kLineSubtitle);
  }

  void draw_x_axis() {
    for (const Tick& tick : x_.ticks()) {
      const double x = kLinePlot.x + kLinePlotSize.width * x_.place(tick.number);
      if (!tick.text.empty()) {
        canvas_.line({x, kLinePlot.y}, {x, kLineBottom}, {palette::kGrid, 0.8});
      }
      canvas_.line({x, kLineBottom}, {x, kLineBottom + (tick.text.empty() ? 2 : 4)},
                   {palette::kFrame, 0.8});
      canvas_.text({x, kLineBottom + 15}, tick.text, kLineTick);
    }
  }

  void draw_y_axis() {
    for (const Tick& tick : y_.ticks()) {
      const double y = kLineBottom - kLinePlotSize.height * y_.place(tick.number);
      if (!tick.text.empty()) {
        canvas_.line({kLinePlot.x, y}, {kLineRight, y}, {palette::kGrid, 0.8});
      }
      canvas_.line({kLinePlot.x - (tick.text.empty() ? 2 : 4), y}, {kLinePlot.x, y},
                   {palette::kFrame, 0.8});
      canvas_.text({kLinePlot.x - 8, y + 3}, tick.text, anchored(kLineTick, Anchor::End));
    }
  }

  void draw_line_frame() {
    canvas_.line(kLinePlot, {kLinePlot.x, kLineBottom}, {palette::kFrame, 1});
    canvas_.line({kLinePlot.x, kLineBottom}, {kLineRight, kLineBottom}, {palette::kFrame, 1});
    canvas_.text({kLinePlot.x + kLinePlotSize.width / 2, kLineBottom + 36},
                 fitted(chart_.x_title, kLinePlotSize.width, kLineAxis), kLineAxis);
    TextStyle upright = kLineAxis;
    upright.rotation = 90;
    canvas_.text({kLineMargin + 8, kLinePlot.y + kLinePlotSize.height / 2},
                 fitted(chart_.y_title, kLinePlotSize.height, upright), upright);
  }

  void draw_line(const ChartLine& line) {
    for (std::size_t i = 1; i < line.points.size(); ++i) {
      canvas_.line(at(line.points[i - 1]), at(line.points[i]), {line.colour, 1.8});
    }
    if (line.points.size() > kMostMarkedPoints) return;
    for (const Point& point : line.points) {
      canvas_.circle(at(point), 3.6, line.colour, {{255, 255, 255}, 0.8},
                     fmt::format("{}: {:.4g}, {:.4g}", line.name, point.x, point.y));
    }
  }

  void draw_line_legend() {
    double baseline = kLinePlot.y + 8;
    for (const ChartLine& line : lines_) {
      canvas_.line({kLineLegend, baseline - 3}, {kLineLegend + 16, baseline - 3},
                   {line.colour, 1.8});
      canvas_.circle({kLineLegend + 8, baseline - 3}, 3.2, line.colour, {{255, 255, 255}, 0.8},
                     line.name);
      canvas_.text({kLineLegend + 22, baseline},
                   fitted(line.name, kLineLegendWidth - 22, kLineLegendText), kLineLegendText);
      baseline += 16;
    }
  }

  Canvas& canvas_;
  const LineChart& chart_;
  std::vector<ChartLine> lines_;
  LineAxis x_;
  LineAxis y_;
};

}  // namespace

std::string line_chart_png(const LineChart& chart) {
  const auto canvas = png_canvas(kLinePicture);
  LinePicture(*canvas, chart).draw();
  return canvas->finish();
}

std::string line_chart_svg(const LineChart& chart) {
  const auto canvas = svg_canvas(kLinePicture, chart.title);
  LinePicture(*canvas, chart).draw();
  return canvas->finish();
}

}  // namespace assay::report
