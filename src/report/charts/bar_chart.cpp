#include "report/charts/bar_chart.h"

#include <algorithm>
#include <numeric>

#include "report/charts/canvas.h"
#include "report/charts/lettering.h"
#include "report/charts/palette.h"

namespace assay::report {

namespace {

constexpr double kMargin = 28;
constexpr double kGap = 7;
constexpr double kWidestName = 230;
constexpr double kBarSpace = 360;
constexpr double kTitleSpace = 46;
constexpr double kRow = 17;
constexpr double kBarThickness = 11;
constexpr double kKeySpace = 18;  // a line that says what the colours mean
constexpr double kKeySquare = 14;
constexpr double kKeyGap = 16;

const TextStyle kTitle{.size = 14, .is_bold = true, .colour = palette::kInk};
const TextStyle kSubtitle{.size = 9, .colour = palette::kQuietInk};
const TextStyle kName{.size = 8.5, .colour = palette::kInk, .anchor = Anchor::End};
const TextStyle kFigure{.size = 8.5, .colour = palette::kQuietInk};

std::vector<std::string> shown_names(const std::vector<Bar>& bars) {
  std::vector<std::string> names;
  for (const Bar& bar : bars) names.push_back(bar.name.empty() ? "(unnamed)" : bar.name);
  return fitted_apart(names, kWidestName, kName);
}

struct BarLayout {
  std::vector<std::string> names;  // of the bars
  double bars_left = 0;
  double bars_top = 0;
  Size size;
};

BarLayout layout_of(const BarChart& chart) {
  const auto shown = shown_names(chart.bars);
  double names = 0;
  double figures = 0;
  for (const std::string& name : shown) names = std::max(names, text_width(name, kName));
  for (const Bar& bar : chart.bars) {
    figures = std::max(figures, text_width(bar.figure, kFigure));
  }
  const double headings =
      std::max(text_width(chart.title, kTitle), text_width(chart.subtitle, kSubtitle));
  double key = kMargin;
  for (const BarKind& kind : chart.kinds)
    key += kKeySquare + text_width(kind.name, kFigure) + kKeyGap;
  const double bars_left = kMargin + names + kGap;
  const double right = std::max({bars_left + kBarSpace + kGap + figures, kMargin + headings, key});
  const double top = kMargin + kTitleSpace + (chart.kinds.empty() ? 0 : kKeySpace);
  const double rows = kRow * static_cast<double>(chart.bars.size());
  return {shown, bars_left, top, {right + kMargin, top + rows + kMargin}};
}

// The largest bars whose sum first reaches half of all.
std::vector<bool> main_half(const std::vector<Bar>& bars) {
  std::vector<std::size_t> order(bars.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>{}, [&](std::size_t i) { return bars[i].value; });
  double missing = 0;
  for (const Bar& bar : bars) missing += bar.value / 2;
  std::vector<bool> is_main(bars.size(), false);
  for (const std::size_t i : order) {
    if (missing <= 0) break;
    is_main[i] = true;
    missing -= bars[i].value;
  }
  return is_main;
}

void draw_bar(Canvas& canvas, const Bar& bar, const std::string& name, Point left_middle,
              double length, Colour colour) {
  const double baseline = left_middle.y + 3;
  canvas.text({left_middle.x - kGap, baseline}, name, kName);
  canvas.rectangle({left_middle.x, left_middle.y - kBarThickness / 2}, {length, kBarThickness},
                   colour);
  canvas.text({left_middle.x + length + kGap, baseline}, bar.figure, kFigure);
}

std::vector<Colour> colours_of(const BarChart& chart) {
  const auto is_main = main_half(chart.bars);
  std::vector<Colour> colours;
  for (std::size_t i = 0; i < chart.bars.size(); ++i) {
    colours.push_back(chart.kinds.empty() ? is_main[i] ? palette::kBlue : palette::kSky
                                          : chart.kinds.at(chart.bars[i].kind).colour);
  }
  return colours;
}

void draw_bars(Canvas& canvas, const BarChart& chart, const BarLayout& layout) {
  double largest = 0;
  for (const Bar& bar : chart.bars) largest = std::max(largest, bar.value);
  const auto colours = colours_of(chart);
  for (std::size_t i = 0; i < chart.bars.size(); ++i) {
    const double middle = layout.bars_top + kRow * (static_cast<double>(i) + 0.5);
    const double length = largest > 0 ? kBarSpace * chart.bars[i].value / largest : 0;
    draw_bar(canvas, chart.bars[i], layout.names[i], {layout.bars_left, middle}, length,
             colours[i]);
  }
  canvas.line({layout.bars_left, layout.bars_top - 2},
              {layout.bars_left, layout.size.height - kMargin + 2}, {palette::kFrame, 0.8});
}

void draw_key(Canvas& canvas, const std::vector<BarKind>& kinds) {
  double left = kMargin;
  const double baseline = kMargin + kTitle.size + 32;
  for (const BarKind& kind : kinds) {
    canvas.rectangle({left, baseline - 8}, {9, 9}, kind.colour);
    canvas.text({left + kKeySquare, baseline}, kind.name, kFigure);
    left += kKeySquare + text_width(kind.name, kFigure) + kKeyGap;
  }
}

std::string drawn_bars(const BarChart& chart, const BarLayout& layout,
                       std::unique_ptr<Canvas> canvas) {
  canvas->text({kMargin, kMargin + kTitle.size - 2}, chart.title, kTitle);
  canvas->text({kMargin, kMargin + kTitle.size + 13}, chart.subtitle, kSubtitle);
  draw_key(*canvas, chart.kinds);
  draw_bars(*canvas, chart, layout);
  return canvas->finish();
}

}  // namespace

std::string bar_chart_png(const BarChart& chart) {
  const BarLayout layout = layout_of(chart);
  return drawn_bars(chart, layout, png_canvas(layout.size));
}

std::string bar_chart_svg(const BarChart& chart) {
  const BarLayout layout = layout_of(chart);
  return drawn_bars(chart, layout, svg_canvas(layout.size, chart.title));
}

}  // namespace assay::report
