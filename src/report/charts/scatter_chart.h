// Points with error bars: something worth having upwards, what it costs to the right. Each belongs
// to a group, which gives its colour, and has a label. Points without a finite place are left out
// and counted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/charts/canvas.h"

namespace assay::report {

enum class Standing { Rejected, Accepted, Frontier, Recommended };

struct ScatterPoint {
  double x = 0;
  double y = 0;
  double x_low = 0;  // intervals, which hold the point
  double x_high = 0;
  double y_low = 0;
  double y_high = 0;
  std::size_t group = 0;
  double share = 1;  // of the area of the largest marker
  std::string label = {};
  Standing standing = Standing::Accepted;
};

struct ScatterGroup {
  std::string name = {};
  Colour colour = {};
};

// A vertical line: what is to the right of it costs too much.
struct ScatterLimit {
  double x = 0;
  std::string label = {};
};

struct ScatterChart {
  std::string title = {};
  std::string subtitle = {};
  std::string x_title = {};
  std::string y_title = {};
  std::vector<ScatterGroup> groups = {};
  std::vector<ScatterPoint> points = {};
  std::vector<Point> frontier = {};  // its corners, from left to right
  std::optional<ScatterLimit> limit = {};
  std::vector<std::string> notes = {};  // below the legend
  std::string if_empty = {};            // a sentence, if no point can be drawn
};

std::string scatter_chart_png(const ScatterChart& chart);
std::string scatter_chart_svg(const ScatterChart& chart);

}  // namespace assay::report
