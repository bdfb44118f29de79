// What each kind of task does. Runs in a process of its own; results are text, as a journal takes
// them.
#pragma once

#include <filesystem>
#include <string>

#include "assay/accuracy.h"
#include "assay/sweep.h"
#include "sweep/materials.h"

namespace assay::sweep {

// Where the models of a sweep are.
std::filesystem::path model_path(const std::filesystem::path& folder, const std::string& task);

// Makes the model of a Train, Prune or Quantize task and writes it. Returns JSON about it.
std::string make_model(const SweepTask& task, const std::filesystem::path& folder,
                       Materials& materials, Progress& progress);

// The result of a Measure or Deploy task, as JSON. The accuracy is known if the same version was
// measured before, at another batch size.
std::string measure_version(const SweepTask& task, const std::filesystem::path& folder,
                            Materials& materials, const std::optional<Accuracy>& known_accuracy,
                            Progress& progress);
std::string simulate_deployment_of(const SweepTask& task, const std::filesystem::path& folder,
                                   Materials& materials, Progress& progress);

}  // namespace assay::sweep
