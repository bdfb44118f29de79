// Estimates the cost of a model's operators on a given machine: the figures of a HardwareProfile.
#pragma once

#include "assay/stream.h"
#include "profile/fit/classified_operators.h"
#include "profile/prepared.h"

namespace assay::profile {

// Without a calibration, latencies are lower bounds.
HardwareProfile estimate_stream(Prepared prepared, double interval_ms, const Roofline& roofline,
                                const ClassifyOptions& operators = {},
                                const Calibration* calibration = nullptr);

// The operators of the streaming model, which are not fused.
ClassifyOptions streaming_operators();

}  // namespace assay::profile
