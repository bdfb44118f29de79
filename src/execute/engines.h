// The engines that `compile` chooses from, one folder each.
#pragma once

#include "assay/program.h"

namespace assay::reference {

// Interprets the plain kernels, one step a node.
std::unique_ptr<Program> compile_reference(Inferred model, const ProgramOptions& options,
                                           Progress* progress);

}  // namespace assay::reference

namespace assay::cpu {

// Fast.
std::unique_ptr<Program> compile_cpu(Inferred model, const ProgramOptions& options,
                                     Progress* progress);

}  // namespace assay::cpu
