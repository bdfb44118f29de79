// Horizontal bars with their names at the left and their figures at the ends. The picture grows
// with the number of bars, and never past what a PNG can hold: `kMostBars` is for callers to
// respect.
#pragma once

#include <string>
#include <vector>

namespace assay::report {

constexpr std::size_t kMostBars = 600;

struct Bar {
  std::string name;
  double value = 0;  // not negative
  std::string figure;
};

struct BarChart {
  std::string title;
  std::string subtitle;
  std::vector<Bar> bars;  // drawn from top to bottom
};

// The bars that together make half of all are darker than the others.
std::string bar_chart_png(const BarChart& chart);

}  // namespace assay::report
