// Lines over a common axis, each with a marker at every point and an entry in the legend. Points
// that have no place on an axis (not finite, or not positive on a logarithmic one) are left out.
#pragma once

#include <string>
#include <vector>

#include "report/charts/canvas.h"

namespace assay::report {

struct ChartLine {
  std::string name;
  Colour colour = {};
  std::vector<Point> points;  // in the units of the axes
};

struct LineChart {
  std::string title;
  std::string subtitle;
  std::string x_title;
  std::string y_title;
  bool is_x_logarithmic = false;
  bool is_y_logarithmic = false;
  std::vector<ChartLine> lines;
};

std::string line_chart_png(const LineChart& chart);
std::string line_chart_svg(const LineChart& chart);

}  // namespace assay::report
