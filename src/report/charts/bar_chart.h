// Horizontal bars with their names at the left and their figures at the ends. The picture grows
// with the number of bars. Callers must not pass more than `kMostBars`, the most that fit into a
// PNG.
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

// The largest bars, which together make up half of the total, are darker.
std::string bar_chart_png(const BarChart& chart);

}  // namespace assay::report
