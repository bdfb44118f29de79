// How many threads a small model runs on, decided by running it.
//
// Threads wait for each other after every step. Where a step takes microseconds, that costs more
// than the other threads save.
#pragma once

#include "assay/program.h"

namespace assay::cpu {

// As `options.cpu` asks for; if it leaves the choice open, the number on which this model is
// fastest: one a processor, unless half as many, and so on, are clearly faster.
int chosen_threads(const Inferred& model, const ProgramOptions& options, Progress* progress);

}  // namespace assay::cpu
