// The data that versions of a model are calibrated with, fine-tuned and judged on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "assay/bind.h"
#include "assay/graph.h"
#include "assay/loader.h"
#include "assay/model_inputs.h"
#include "assay/training_data.h"

namespace assay {

struct OptimizeData {
  std::vector<ModelInputs> calibration = {};  // batches; empty: no calibration, so no int8
  std::string calibrated_on = "";             // in words
  std::optional<Loader> labelled = {};        // to judge on: gives accuracy and agreement
  std::vector<ModelInputs> inputs = {};       // to judge on, without labels: gives agreement
  std::string judged_on = "";                 // in words
  std::optional<Dataset> training = {};       // to fine-tune
  std::vector<std::string> warnings = {};
};

// Judged on the validation part, fine-tuned on the other; `calibration_samples` of that calibrate.
OptimizeData labelled_data(const Graph& model, TrainingData data, std::int64_t calibration_samples,
                           std::uint64_t seed);

// Normally distributed numbers in the shapes that the bindings give. Ranges of activations are then
// not those of real data, which the words say.
std::vector<ModelInputs> seeded_inputs(const Graph& model, const Bindings& bindings,
                                       std::int64_t samples, std::uint64_t seed);

// Every .npy file of a folder, in the order of names: an array for a model with one input, with or
// without an axis for the batch. For models with several inputs, .npz files with one array for
// each, by name. Arrays of float64 are taken as float32.
std::vector<ModelInputs> read_input_folder(const std::filesystem::path& folder, const Graph& model);
bool holds_input_files(const std::filesystem::path& folder);

// Every fourth batch judges, the others calibrate; with fewer than four, all do both, and a warning
// says so.
OptimizeData unlabelled_data(std::vector<ModelInputs> batches, const std::string& described_as);

}  // namespace assay
