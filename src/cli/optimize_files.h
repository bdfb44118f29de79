// The files that `assay optimize` writes: the model, the record beside it, tables and pictures.
#pragma once

#include <string>

#include "assay/optimize_report.h"
#include "cli/optimize_arguments.h"

namespace assay::cli {

// Refuses places that cannot be written to: before the search, not after minutes of it.
void check_outputs(const OptimizeArguments& arguments);

// Scales, zero points and choices of the version written, if there is one.
void write_record(OptimizeReport& report);
// Tables and pictures, where they were asked for.
void write_artifacts(const OptimizeArguments& arguments, const OptimizeReport& report);

}  // namespace assay::cli
