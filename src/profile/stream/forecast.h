// Whether an estimated stream keeps up with its interval, by how much, and what interval would do.
#pragma once

#include "assay/stream.h"

namespace assay::profile {

// From the profile's totals and operators; a null calibration means that they are lower bounds.
StreamForecast forecast_of(const HardwareProfile& profile, const Calibration* calibration);

}  // namespace assay::profile
