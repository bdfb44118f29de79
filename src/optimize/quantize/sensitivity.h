// Sensitivity of layers, of a model whose activations have been observed.
#pragma once

#include "optimize/quantize/calibrated_model.h"

namespace assay::optimize {

std::vector<LayerSensitivity> sensitivities_of(const CalibratedModel& model,
                                               const CalibrationData& data,
                                               const QuantizeOptions& options, Progress* progress);

}  // namespace assay::optimize
