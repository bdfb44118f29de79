// Where and in which precision a model is to be judged, by the names people use.
#pragma once

#include <string_view>

namespace assay::train {

// Refuses names that do not exist, and those that are not built yet.
void check_device(std::string_view device);        // "cpu"; "cuda" is not built
void check_precision(std::string_view precision);  // "fp32"; "fp16", "bf16", "int8" are not built

}  // namespace assay::train
