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

// -1, 0 or 1: which side of the point a label in this direction is on.
double side_of(double direction) {
  return std::abs(direction) < 1e-6 ? 0 : std::copysign(1, direction);
}

// The label's nearest edge or corner is in that direction, `gap` away from the circle.
LabelSpot spot_at(Point centre, double radius, Size size, double gap, double degrees) {
  const double angle = degrees * std::numbers::pi / 180;
  const Point aside{std::cos(angle), -std::sin(angle)};
  const auto along_it = [&](double distance) -> Point {
    return {centre.x + distance * aside.x, centre.y + distance * aside.y};
  };
  const Point nearest = along_it(radius + gap);
  const Point foot{nearest.x + side_of(aside.x) * size.width / 2,
                   nearest.y + (side_of(aside.y) + 1) * size.height / 2};
  return {.quad = standing_on(foot, size),
          .foot = foot,
          .line_from = along_it(radius),
          .line_to = along_it(radius + gap - 1)};
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

LabelPlaces::Bounds LabelPlaces::bounds_of(const Quad& quad) {
  const auto [left, right] = reach(quad, {1, 0});
  const auto [top, bottom] = reach(quad, {0, 1});
  return {left, right, top, bottom};
}

void LabelPlaces::occupy(const Quad& quad) {
  taken_.emplace_back(bounds_of(quad), quad);
}

bool LabelPlaces::is_inside(const Bounds& bounds) const {
  return bounds.left >= corner_.x && bounds.right <= corner_.x + size_.width &&
         bounds.top >= corner_.y && bounds.bottom <= corner_.y + size_.height;
}

bool LabelPlaces::is_free(const Quad& quad) const {
  const Bounds bounds = bounds_of(quad);
  if (!is_inside(bounds)) return false;
  return std::ranges::none_of(taken_, [&](const auto& taken) {
    const auto& [other, other_quad] = taken;
    const bool is_apart = bounds.right <= other.left || other.right <= bounds.left ||
                          bounds.bottom <= other.top || other.bottom <= bounds.top;
    return !is_apart && overlap(quad, other_quad);
  });
}

std::optional<LabelSpot> free_spot(const LabelPlaces& places, Point centre, double radius,
                                   Size size) {
  constexpr double kClose = 2.6;
  for (const double gap : {kClose, 10.6, 20.6, 32.6}) {
    for (const double degrees : {0, 180, 90, 270, 45, 135, 225, 315}) {
      LabelSpot spot = spot_at(centre, radius, size, gap, degrees);
      if (!places.is_free(spot.quad)) continue;
      spot.is_close = gap == kClose;
      return spot;
    }
  }
  return std::nullopt;
}

}  // namespace assay::report
