// Short texts about a sweep that tables and pictures share.
#pragma once

#include <string>
#include <vector>

#include "assay/sweep_result.h"

namespace assay::report {

// What tells rows apart beside pruning and precision.
struct VaryingSettings {
  bool batch_size = false;
  bool threads = false;
};
VaryingSettings varying_settings(const std::vector<SweepRow>& rows);

std::string plural_of(std::size_t count, const std::string& what);  // "1 row", "3 rows"

// "SmallCNN on fashion-mnist, batch 128, 2 threads, Intel Xeon, seed 7"
std::string swept_text(const SweepRun& run);

std::string rejection_word(Rejection kind);  // "too large", "failed", …

// "recommended" or why not: what the decision made of each row.
std::vector<std::string> outcomes_of(const SweepRun& run);

}  // namespace assay::report
