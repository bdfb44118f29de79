// The ceilings that a command compares a model with: those in the file that ASSAY_MACHINE names,
// those cached for this machine, or new ones; measuring them is announced on stderr.
#pragma once

#include <string_view>

#include "assay/machine.h"
#include "assay/program.h"

namespace assay::cli {

// Tells in the announcement how to skip the measurement.
inline constexpr std::string_view kNoCeilings = "--no-ceilings skips it";
inline constexpr std::string_view kStoredMachine =
    "ASSAY_MACHINE=FILE uses the output of 'assay machine --json' instead";

// Adds to `warnings` what is wrong with the ceilings, or why they could not be cached.
Machine chosen_machine(Progress& progress, bool quiet, std::string_view how_to_skip,
                       std::vector<std::string>& warnings);
// The same for what a program runs on: the processor or a GPU.
Machine chosen_machine_for(const ProgramOptions& program, Progress& progress, bool quiet,
                           std::string_view how_to_skip, std::vector<std::string>& warnings);

}  // namespace assay::cli
