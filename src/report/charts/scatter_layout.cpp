#include "report/charts/scatter_layout.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace assay::report {

namespace {

// A factor between costs beyond which a linear axis would squeeze the cheap ones together.
constexpr double kLogarithmicFrom = 20;
// A limit further out than this factor would squeeze all points together.
constexpr double kFarLimit = 3;

bool can_be_drawn(const ScatterPoint& point) {
  constexpr double kFarthest = 1e30;
  const bool is_finite = std::isfinite(point.x) && std::isfinite(point.y);
  return is_finite && point.x > 1 / kFarthest && point.x < kFarthest &&
         std::abs(point.y) < kFarthest;
}

// An interval that is not one, or does not hold its number, becomes the number.
void mend_interval(double number, double& low, double& high) {
  low = std::isfinite(low) ? std::min(low, number) : number;
  high = std::isfinite(high) ? std::max(high, number) : number;
}

std::vector<ScatterPoint> drawable_scatter(const ScatterChart& chart) {
  std::vector<ScatterPoint> points;
  for (ScatterPoint point : chart.points) {
    if (!can_be_drawn(point)) continue;
    mend_interval(point.x, point.x_low, point.x_high);
    mend_interval(point.y, point.y_low, point.y_high);
    points.push_back(std::move(point));
  }
  std::ranges::stable_sort(points, {}, &ScatterPoint::standing);
  return points;
}

bool is_near(const ScatterLimit& limit, double least, double most) {
  return limit.x >= least / kFarLimit && limit.x <= most * kFarLimit;
}

void set_costs(const ScatterChart& chart, ScatterLayout& layout) {
  double least = layout.points.front().x;
  double most = least;
  for (const ScatterPoint& point : layout.points) {
    least = std::min(least, point.x);
    most = std::max(most, point.x);
  }
  layout.shows_limit = chart.limit && is_near(*chart.limit, least, most);
  if (layout.shows_limit) {
    least = std::min(least, chart.limit->x);
    most = std::max(most, chart.limit->x);
  }
  CostAxis& axis = layout.x;
  axis.is_logarithmic = most / least > kLogarithmicFrom;
  if (axis.is_logarithmic) {
    const double factor = std::pow(most / least, 0.08);
    axis.low = least / factor;
    axis.high = most * factor;
    return;
  }
  const double space = std::max(0.1 * (most - least), 0.02 * most);
  axis.low = std::max(0.0, least - space);
  axis.high = most + space;
}

LinearRange range_of_intervals(const std::vector<ScatterPoint>& points) {
  double least = points.front().y_low;
  double most = points.front().y_high;
  for (const ScatterPoint& point : points) {
    least = std::min(least, point.y_low);
    most = std::max(most, point.y_high);
  }
  const double space = std::max(0.08 * (most - least), 0.5);
  return {least - space, most + space};
}

}  // namespace

double CostAxis::place(double number) const {
  return is_logarithmic ? LogRange{low, high}.place(number) : LinearRange{low, high}.place(number);
}

std::vector<Tick> CostAxis::ticks() const {
  return is_logarithmic ? ticks_of(LogRange{low, high}, 8) : ticks_of(LinearRange{low, high}, 8);
}

ScatterLayout scatter_layout(const ScatterChart& chart) {
  ScatterLayout layout;
  layout.points = drawable_scatter(chart);
  layout.left_out = chart.points.size() - layout.points.size();
  if (layout.points.empty()) return layout;
  set_costs(chart, layout);
  for (ScatterPoint& point : layout.points) {
    point.x_low = std::max(point.x_low, layout.x.low);
    point.x_high = std::min(point.x_high, layout.x.high);
  }
  layout.y = range_of_intervals(layout.points);
  return layout;
}

std::vector<std::vector<std::size_t>> clusters_of(const std::vector<ScatterPoint>& points,
                                                  const std::vector<Point>& places,
                                                  double distance) {
  std::map<std::pair<long, long>, std::size_t> known;
  std::vector<std::vector<std::size_t>> clusters;
  for (std::size_t i = points.size(); i-- > 0;) {
    const std::pair cell{std::lround(places[i].x / distance), std::lround(places[i].y / distance)};
    const auto [found, is_new] = known.try_emplace(cell, clusters.size());
    if (is_new) clusters.emplace_back();
    clusters[found->second].push_back(i);
  }
  return clusters;
}

}  // namespace assay::report
