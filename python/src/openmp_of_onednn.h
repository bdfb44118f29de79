// oneDNN's parallel regions run on the same threads as ours, whoever loaded oneDNN first.
//
// A program replaces libgomp's functions by linking src/cli/openmp.cpp. In a Python process that is
// not enough: another package may have put libgomp, or oneDNN itself, before this module. Two teams
// of threads would then compete for the processors, and libgomp's hang in a copy of the process.
#pragma once

namespace assay::python {

// Points oneDNN's calls of OpenMP at this module's functions. Regions that still go to libgomp, as
// the environment may ask for, leave no threads behind when the process is copied (fork).
void use_own_openmp_in_onednn();

}  // namespace assay::python
