// What choices of algorithms depend on beside the question, as the tuning file names it.
#pragma once

#include "execute/tuning_file.h"

namespace assay::cpu {

// The processor, its caches, the instruction set in use, the versions of assay and oneDNN.
std::string this_machine_and_library();

// The tuning file of a program for this machine.
execute::TuningFile tuning_file_of(const ProgramOptions& options);

}  // namespace assay::cpu
