// The engines that `compile` chooses from, one folder each.
#pragma once

#include "assay/program.h"

namespace assay {

// reference/: interprets the plain kernels, one step a node.
std::unique_ptr<Program> compile_reference(Inferred model, const ProgramOptions& options,
                                           Progress* progress);
// onednn/: fast.
std::unique_ptr<Program> compile_onednn(Inferred model, const ProgramOptions& options,
                                        Progress* progress);

}  // namespace assay
