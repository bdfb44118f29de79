// Estimates the cost of a model's operators on a given machine: the figures of a HardwareProfile.
#pragma once

#include "assay/stream.h"
#include "profile/operators.h"
#include "profile/prepared.h"

namespace assay::profile {

HardwareProfile estimate_stream(Prepared prepared, double interval_ms, const Roofline& roofline,
                                const MayJoin& may_join);

// The rule of the streaming model, whose operators are not fused.
bool joins_its_own_operator(const std::string& layer, const std::string& into);

}  // namespace assay::profile
