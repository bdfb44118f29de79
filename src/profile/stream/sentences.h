// What a stream's figures mean on this machine, in words: which cache holds a run, what the time
// goes to, what lower precision would change.
#pragma once

#include "assay/stream.h"

namespace assay::profile {

// Distinct bytes that one run touches: stored tensors and the planned arena.
double run_bytes(const HardwareProfile& profile);

std::string precision_note(const HardwareProfile& profile);
std::string cache_sentence(const HardwareProfile& profile);
std::string bottleneck_sentence(const HardwareProfile& profile);

}  // namespace assay::profile
