// The names of the device and the precision to evaluate a model with.
#pragma once

#include <string_view>

#include "assay/program.h"

namespace assay::train {

// The options with an engine for the device: "cpu", or "cuda", which must be there. An Error names
// an unknown device, and an engine that does not run on it.
ProgramOptions on_device(ProgramOptions options, std::string_view device);

// The options with the precision of this name: "bf16", "fp16", "fp32" (the model as it is); "int8",
// which only a quantised model runs in; or "tf32", which only a GPU computes in.
ProgramOptions in_precision(ProgramOptions options, std::string_view precision);

}  // namespace assay::train
