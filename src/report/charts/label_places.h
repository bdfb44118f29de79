// Positions for labels in a picture, so that no two overlap.
#pragma once

#include <array>
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

  void occupy(const Quad& quad) { taken_.push_back(quad); }
  bool is_free(const Quad& quad) const;

 private:
  bool is_inside(const Quad& quad) const;

  Point corner_;
  Size size_;
  std::vector<Quad> taken_;
};

}  // namespace assay::report
