// The rows of a profile, by layer, step or op, in the order to show them: what the table, the CSV
// and the JSON have in common.
#pragma once

#include <string>
#include <vector>

#include "assay/profile_report.h"

namespace assay::report {

struct ProfileRow {
  LayerCost cost = {};  // a step's: the work it executes and the bytes it moves
  std::optional<double> time_ms = {};
  std::optional<double> median_ms = {};  // of a step
  double share = 0;
  Rates rates = {};
  std::string detail = "";  // fused layers, a step's algorithm, how many layers an op has
  std::vector<std::string> warnings = {};
};

// All rows, "(between steps)" last, sorted and cut to the top as requested. `hidden`, if given,
// gets the sum of the other rows.
std::vector<ProfileRow> profile_rows(const Profile& profile, const ProfileReportOptions& options,
                                     ProfileRow* hidden = nullptr);

}  // namespace assay::report
