// The names of the device and the precision to evaluate a model with.
#pragma once

#include <string_view>

#include "assay/program.h"

namespace assay::train {

// Refuses unknown names, and those that are not implemented yet.
void check_device(std::string_view device);  // "cpu"; "cuda" is not implemented

// The options with the precision of this name: "bf16", "fp16", "fp32" (the model as it is); or
// "int8", which only a quantised model runs in.
ProgramOptions in_precision(ProgramOptions options, std::string_view precision);

}  // namespace assay::train
