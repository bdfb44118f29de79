// Whether samples gather around two values instead of one.
//
// Hartigan's dip is the distance from the samples' distribution to the nearest one with a single
// peak, whatever that peak's shape: skew and long tails are no second mode. It is slow to notice a
// small second mode, so a clear gap between two groups counts as well. Two modes also have to be
// far enough apart, and both populated, to matter to a reader.
#pragma once

#include <span>

namespace assay::stats {

// Between 1 / (2 n) and 1 / 4; `ascending` must be sorted.
double dip(std::span<const double> ascending);

struct Modes {
  bool bimodal = false;
  double lower = 0;  // medians of the two groups
  double upper = 0;
  double upper_share = 0;  // of the samples
};
Modes find_modes(std::span<const double> samples);

}  // namespace assay::stats
