// The data that versions of a model are calibrated with, fine-tuned and judged on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/bind.h"
#include "assay/graph.h"
#include "assay/loader.h"
#include "assay/model_inputs.h"
#include "assay/quantize.h"
#include "assay/training_data.h"

namespace assay {

struct OptimizeData {
  CalibrationData calibration = {};      // without batches: no calibration, so no int8
  std::optional<Loader> labelled = {};   // to judge on: gives accuracy and agreement
  std::vector<ModelInputs> inputs = {};  // to judge on, without labels: gives agreement
  std::string judged_on = "";            // in words
  std::optional<Dataset> training = {};  // to fine-tune
  std::vector<std::string> warnings = {};
};

// Judged on the validation part, fine-tuned on the other; `calibration_samples` of that calibrate.
OptimizeData labelled_data(const Graph& model, TrainingData data, std::int64_t calibration_samples,
                           std::uint64_t seed);

// Normally distributed numbers in the shapes that the bindings give. Ranges of activations are then
// not those of real data.
std::vector<ModelInputs> seeded_inputs(const Graph& model, const Bindings& bindings,
                                       std::int64_t samples, std::uint64_t seed);

// Every fourth batch judges, the others calibrate; with fewer than four, all do both, and a warning
// says so. A batch that does not fit the model's inputs is an Error that names both shapes.
OptimizeData unlabelled_data(const Graph& model, const CalibrationData& all);

}  // namespace assay
