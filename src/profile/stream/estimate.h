// Puts a price on a model's operators, on a machine that is given: the figures of a
// HardwareProfile.
#pragma once

#include "assay/stream.h"
#include "profile/prepared.h"
#include "profile/stream/operators.h"

namespace assay {

HardwareProfile estimate_stream(Prepared prepared, double interval_ms, const Roofline& roofline,
                                const MayJoin& may_join);

// The rules of the streaming model, whose operators stay apart, and of any other.
bool joins_its_own_operator(const std::string& layer, const std::string& into);
bool joins_any_operator(const std::string& layer, const std::string& into);

}  // namespace assay
