// How much the medians of one model differ between processes on a machine, where stored profiles
// are compared.
#pragma once

#include <string>

#include "assay/compare_report.h"

namespace assay::compare {

struct StoredSpread {
  double deviation = 0;
  std::string origin;  // "measured on this machine", or why it is assumed
};
// As measured if both profiles are from this machine.
StoredSpread spread_of_stored(const StoredProfile& a, const StoredProfile& b);

}  // namespace assay::compare
