// A roofline: what a machine can do at most, as lines over the arithmetic intensity, and what a
// model's layers did, as points below them. Both axes are logarithmic. Points and ceilings that
// have no place on such axes (zero, negative, infinite, not a number) are left out, and a note
// counts them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace assay {

struct ComputeCeiling {
  std::string name;  // "fp32 AVX-512"; the figure is added to it
  double gflops = 0;
};

struct BandwidthCeiling {
  std::string name;  // "DRAM"
  double gbps = 0;
};

struct RooflinePoint {
  std::string name;
  double intensity = 0;  // FLOPs per byte
  double gflops = 0;
  double time_share = 0;   // 0 to 1
  std::string bound = {};  // "compute", "memory", "overhead", or any other word
};

struct RooflineChart {
  std::string title;
  std::string machine;
  std::vector<ComputeCeiling> peaks;
  std::vector<BandwidthCeiling> bandwidths;
  std::vector<RooflinePoint> points;
};

// For a terminal: `height` lines of plot, then a legend of the layers that take the most time. At
// least 52 columns and 8 lines are used.
std::string roofline_text(const RooflineChart& chart, std::size_t width = 80,
                          std::size_t height = 20, bool use_colour = false);
std::string roofline_png(const RooflineChart& chart);  // 180 DPI
std::string roofline_svg(
    const RooflineChart& chart);  // points tell their figures under the pointer

}  // namespace assay
