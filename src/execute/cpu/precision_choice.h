// Which numbers of a model of 16 bits are stored so, decided by running it.
//
// A layer chooses among algorithms by itself; what conversions between layers cost, and layers that
// gain nothing, show in the whole model only. It is compiled with everything in 16 bits, and where
// that might not pay, in float32 and with weights alone in 16 bits. The fastest stays.
#pragma once

#include "execute/cpu/executable.h"

namespace assay::cpu {

// Sets `options.stored`, with which the same model is compiled again. Runs on the caller's team.
std::unique_ptr<Executable> compiled_in_best_precision(Inferred model, LoweringOptions& options,
                                                       Progress* progress);

}  // namespace assay::cpu
