#include "report/charts/label_places.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace assay::report {

namespace {

// The smallest and the largest projection of the corners on a direction.
std::pair<double, double> reach(const Quad& quad, Point direction) {
  const auto along_it = [&](const Point& p) { return p.x * direction.x + p.y * direction.y; };
  double least = along_it(quad[0]);
  double most = least;
  for (const Point& corner : quad) {
    least = std::min(least, along_it(corner));
    most = std::max(most, along_it(corner));
  }
  return {least, most};
}

// Two convex shapes do not overlap if an edge of one of them separates them.
bool is_parted_by_an_edge_of(const Quad& one, const Quad& other) {
  for (std::size_t i = 0; i < one.size(); ++i) {
    const Point& from = one[i];
    const Point& to = one[(i + 1) % one.size()];
    const Point normal{to.y - from.y, from.x - to.x};
    const auto [least, most] = reach(one, normal);
    const auto [other_least, other_most] = reach(other, normal);
    if (most <= other_least || other_most <= least) return true;
  }
  return false;
}

}  // namespace

Quad standing_on(Point foot, Size size, double rotation) {
  const double angle = rotation * std::numbers::pi / 180;
  const auto corner = [&](double right, double up) -> Point {
    return {foot.x + right * std::cos(angle) - up * std::sin(angle),
            foot.y - right * std::sin(angle) - up * std::cos(angle)};
  };
  const double half = size.width / 2;
  return {corner(-half, 0), corner(half, 0), corner(half, size.height), corner(-half, size.height)};
}

Quad around(Point centre, double radius) {
  return standing_on({centre.x, centre.y + radius}, {2 * radius, 2 * radius});
}

Quad along(Point from, Point to, double thickness) {
  const double length = std::max(std::hypot(to.x - from.x, to.y - from.y), 1e-6);
  const Point aside{(to.y - from.y) / length * thickness / 2,
                    -(to.x - from.x) / length * thickness / 2};
  return {Point{from.x - aside.x, from.y - aside.y}, Point{to.x - aside.x, to.y - aside.y},
          Point{to.x + aside.x, to.y + aside.y}, Point{from.x + aside.x, from.y + aside.y}};
}

bool overlap(const Quad& one, const Quad& other) {
  return !is_parted_by_an_edge_of(one, other) && !is_parted_by_an_edge_of(other, one);
}

bool LabelPlaces::is_inside(const Quad& quad) const {
  return std::ranges::all_of(quad, [&](const Point& p) {
    return p.x >= corner_.x && p.x <= corner_.x + size_.width && p.y >= corner_.y &&
           p.y <= corner_.y + size_.height;
  });
}

bool LabelPlaces::is_free(const Quad& quad) const {
  return is_inside(quad) &&
         std::ranges::none_of(taken_, [&](const Quad& other) { return overlap(quad, other); });
}

}  // namespace assay::report
