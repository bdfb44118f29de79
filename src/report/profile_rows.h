// The rows of a profile, by layer, step or op, in the order to show them: what the table, the CSV
// and the JSON have in common.
#pragma once

#include <string>
#include <vector>

#include "assay/profile_report.h"
#include "report/column_names.h"
#include "report/count_columns.h"

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

// All columns that a table can have.
enum class ProfileField {
  Name,
  Op,
  Detail,
  Output,
  Time,
  Share,
  Gflops,  // executed
  NominalGflops,
  Gbytes,
  Bound,
  Warnings,
  Parameters,
  Macs,
  EffectiveMacs,
  Flops,
  Read,
  Written,
  ParameterBytes,
  Activations
};
std::span<const ColumnName> profile_fields();  // in the order of the enumeration
// The figure that a field shows, if it is one of a count's.
const CountColumn* counted_figure(ProfileField field);

// What the time between steps is called: of steps that were timed apart, "(launch)", or "(overlap)"
// where it is below 0.
std::string between_steps_name(const Profile& profile);

// All rows, "(between steps)" last, sorted and cut to the top as requested. The sum of the other
// rows is a row "(N more)" before it, or goes to `hidden` if that is given.
std::vector<ProfileRow> profile_rows(const Profile& profile, const ProfileReportOptions& options,
                                     ProfileRow* hidden = nullptr);

}  // namespace assay::report
