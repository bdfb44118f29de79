// The fast engine's programs.
#pragma once

#include "assay/program.h"

namespace assay::cpu {

std::unique_ptr<Program> compile_cpu(Inferred model, const ProgramOptions& options,
                                     Progress* progress);

}  // namespace assay::cpu
