// Horizontal bars with their names at the left and their figures at the ends. The picture grows
// with the number of bars. Callers must not pass more than `kMostBars`, the most that fit into a
// PNG.
#pragma once

#include <string>
#include <vector>

#include "report/charts/canvas.h"

namespace assay::report {

constexpr std::size_t kMostBars = 600;

struct Bar {
  std::string name;
  double value = 0;  // not negative
  std::string figure;
  std::size_t kind = 0;  // a position in BarChart::kinds
};

// What a colour means.
struct BarKind {
  std::string name;
  Colour colour = {};
};

struct BarChart {
  std::string title;
  std::string subtitle;
  std::vector<Bar> bars;  // drawn from top to bottom
  std::vector<BarKind> kinds =
      {};  // with none, the largest bars that make up half of it are darker
};

std::string bar_chart_png(const BarChart& chart);
std::string bar_chart_svg(const BarChart& chart);

}  // namespace assay::report
