// The first output of a model on every batch of calibration data, and how two of them differ.
#pragma once

#include <cstddef>
#include <vector>

#include "assay/quantize.h"

namespace assay::optimize {

using FirstOutputs = std::vector<std::vector<float>>;  // by batch

struct RowsOfOutputs {
  FirstOutputs outputs;
  std::size_t row = 1;  // elements along the last axis
};

RowsOfOutputs first_outputs(const Graph& model, const CalibrationData& data,
                            const ProgramOptions& options);

// Fills in what compares `other` with `real`.
void compare_outputs(const RowsOfOutputs& real, const FirstOutputs& other,
                     LayerSensitivity& sensitivity);

}  // namespace assay::optimize
