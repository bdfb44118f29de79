// The GPU's programs.
#pragma once

#include "assay/program.h"

namespace assay::cuda {

std::unique_ptr<Program> compile_cuda(Inferred model, const ProgramOptions& options,
                                      Progress* progress);

}  // namespace assay::cuda
