// The networks that `assay fit` is calibrated with: those of the zoo, and probes, short networks of
// layers and sizes that the zoo lacks.
#pragma once

#include <vector>

#include "assay/fit.h"

namespace assay::cli {

std::vector<CalibrationNetwork> calibration_networks();
std::vector<CalibrationNetwork> calibration_probes();  // those alone

}  // namespace assay::cli
