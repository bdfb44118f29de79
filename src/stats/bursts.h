// Bursts: stretches in which sample after sample is far slower than most, as while another program
// runs.
//
// A few of them say little about how often they come, so that no interval of the median can be
// certain of their share.
#pragma once

#include <cstddef>
#include <span>

namespace assay::stats {

struct Bursts {
  std::size_t count = 0;
  double share = 0;  // of the samples
};
Bursts find_bursts(std::span<const double> samples);

}  // namespace assay::stats
