// Where the numbers of a training step stop being finite.
#pragma once

#include <span>
#include <string>

#include "assay/program.h"
#include "assay/training_step.h"

namespace assay::train {

// Runs the step once more from the state before it, with every computed value as an output. Returns
// "the output of layer 'conv2'", "the gradient at layer 'conv1'".
std::string first_not_finite_in(const Graph& model, const TrainingStep& step,
                                std::span<const Tensor> state, std::span<const Tensor> inputs,
                                const ProgramOptions& options);

}  // namespace assay::train
