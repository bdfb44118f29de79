// How much the medians of one model differ between processes on a machine: measured by
// 'assay machine', used where stored profiles are compared.
#pragma once

#include <string>

#include "assay/compare_report.h"
#include "assay/machine.h"
#include "assay/progress.h"

namespace assay::cli {

// Profiles a small model in fresh processes, one after the other; takes about 6 s. Throws an Error
// of kind Cancelled on Ctrl-C.
std::optional<ProcessSpread> measured_process_spread(Progress& progress);

struct StoredSpread {
  double deviation = 0;
  std::string origin;  // "measured on this machine", or why it is assumed
};
// As measured if both profiles are from this machine.
StoredSpread spread_of_stored(const StoredProfile& a, const StoredProfile& b);

}  // namespace assay::cli
