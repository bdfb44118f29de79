// What a scatter chart draws where: the points that have a place, the ranges of its axes, and
// which points lie on top of each other.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/charts/axis.h"
#include "report/charts/scatter_chart.h"

namespace assay::report {

// Of costs: logarithmic if they differ much.
struct CostAxis {
  double low = 0;
  double high = 1;
  bool is_logarithmic = false;
  double place(double number) const;  // 0 at the low end, 1 at the high end
  std::vector<Tick> ticks() const;
};

struct ScatterLayout {
  std::vector<ScatterPoint> points;  // in the order of drawing: the most important last
  CostAxis x;
  LinearRange y;
  bool shows_limit = false;  // near enough to be within the range
  std::size_t left_out = 0;
};

ScatterLayout scatter_layout(const ScatterChart& chart);

// Positions of points in the layout that have the same place, within `distance`; the most
// important cluster first, and the most important point of each.
std::vector<std::vector<std::size_t>> clusters_of(const std::vector<ScatterPoint>& points,
                                                  const std::vector<Point>& places,
                                                  double distance);

}  // namespace assay::report
