// Positions for labels in a picture, so that no two overlap.
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "report/charts/canvas.h"

namespace assay::report {

// A rectangle at any angle, by its corners in order.
using Quad = std::array<Point, 4>;

// `foot` is the middle of its lower edge; it is rotated counterclockwise around it.
Quad standing_on(Point foot, Size size, double rotation = 0);
Quad around(Point centre, double radius);
Quad along(Point from, Point to, double thickness);
bool overlap(const Quad& one, const Quad& other);

class LabelPlaces {
 public:
  LabelPlaces(Point corner, Size size) : corner_(corner), size_(size) {}

  void occupy(const Quad& quad);
  bool is_free(const Quad& quad) const;

 private:
  // The smallest upright rectangle around a quad: two that are apart are told apart quickly.
  struct Bounds {
    double left = 0;
    double right = 0;
    double top = 0;
    double bottom = 0;
  };
  static Bounds bounds_of(const Quad& quad);
  bool is_inside(const Bounds& bounds) const;

  Point corner_;
  Size size_;
  std::vector<std::pair<Bounds, Quad>> taken_;
};

// Where a label beside a point goes: its quad, the middle of its lower edge, and a line to the
// point if it is not close.
struct LabelSpot {
  Quad quad = {};
  Point foot = {};
  bool is_close = true;
  Point line_from = {};
  Point line_to = {};
};

// The nearest free one around the point.
std::optional<LabelSpot> free_spot(const LabelPlaces& places, Point centre, double radius,
                                   Size size);

}  // namespace assay::report
