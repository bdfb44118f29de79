// What every form of a roofline shares: the points and ceilings that can be drawn, the ranges of
// its logarithmic axes, and the order in which points get letters.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/roofline_chart.h"
#include "report/charts/axis.h"

namespace assay::report {

// A ceiling as a line: rising with the intensity, or horizontal if `gbps` is not given.
struct Roof {
  std::string label;  // "DRAM 12.5 GB/s"
  bool is_bandwidth = false;
  double rate = 0;
  double from = 0;  // the range of intensities in which it is the limit
  double to = 0;
  double gflops_at(double intensity) const { return is_bandwidth ? rate * intensity : rate; }
};

struct RooflineLayout {
  LogRange intensity;
  LogRange gflops;
  std::vector<Roof> roofs;
  std::vector<RooflinePoint> points;  // the largest share of the time first
  std::string note;                   // what was left out, or empty
};

RooflineLayout layout_of(const RooflineChart& chart);

// "A" to "Z"; further points have no letter.
std::string letter(std::size_t index);

// The different words among the points' bounds: known ones first, in a fixed order.
std::vector<std::string> bounds_of(const std::vector<RooflinePoint>& points);

std::string share_text(double share);  // "12.3%"

}  // namespace assay::report
