// The names of the device and the precision to evaluate a model with.
#pragma once

#include <string_view>

namespace assay::train {

// Refuses unknown names, and those that are not implemented yet.
void check_device(std::string_view device);  // "cpu"; "cuda" is not implemented
void check_precision(
    std::string_view precision);  // "fp32"; "fp16", "bf16", "int8" are not implemented

}  // namespace assay::train
