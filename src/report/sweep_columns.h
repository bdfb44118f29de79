// A row of a sweep as named figures, so that all its tables have the same columns.
#pragma once

#include <string>
#include <vector>

#include "assay/sweep_result.h"
#include "report/hardware_columns.h"

namespace assay::report {

// The columns of `violations`, by the budgets of the configuration: "violates_1.0mb".
std::vector<std::string> violation_names(const SweepConfig& config);

// Metrics and violations; all null for a version that failed.
NamedFigures measured_figures(const SweepRow& row, const std::vector<std::string>& violations);

// Everything that is known about a row.
NamedFigures sweep_figures(const SweepRow& row, const std::vector<std::string>& violations);

// Which version this is: pruning, precision, batch and threads.
NamedFigures version_figures(const SweepRow& row);

}  // namespace assay::report
