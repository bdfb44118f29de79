// Short networks of layers and sizes that the zoo lacks, for calibration_networks().
#pragma once

#include <vector>

#include "assay/fit.h"

namespace assay::profile {

std::vector<CalibrationNetwork> calibration_probes();

}  // namespace assay::profile
