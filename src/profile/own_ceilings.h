// The ceilings that a program is compared with: the processor's, or those of the GPU it runs on. A
// caller who provides none gets some that are measured in this process: few tries, only the thread
// count and precision that are needed.
#pragma once

#include "assay/machine.h"
#include "assay/program.h"
#include "assay/roofline.h"

namespace assay::profile {

bool runs_on_gpu(const ProgramOptions& program);

// Measured on the first call, which takes a second or two, then cached.
Machine quickly_measured(int threads, Progress* progress = nullptr);

// Always measured again.
Ceilings measured_again(const Topology& topology, int threads, Progress* progress = nullptr);

// The machine that the caller provides, with a GPU if the program runs on one; otherwise as above.
Machine machine_for(const ProgramOptions& program, const std::optional<Machine>& provided,
                    Progress* progress);
// Measures again what the program is compared with; the better of both counts.
void measure_again_for(const ProgramOptions& program, Machine& machine, Progress* progress);

// With what starting a step takes. Nothing if the machine has no such ceilings.
std::optional<Roofline> roofline_for(const ProgramOptions& program, const Machine& machine);

}  // namespace assay::profile
