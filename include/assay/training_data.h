// A data set in two parts: samples to train on and samples to validate with.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/dataset.h"
#include "assay/graph.h"

namespace assay {

struct TrainingData {
  Dataset training = {};
  Dataset validation = {};
  std::vector<std::string> warnings = {};
};

struct TrainingDataOptions {
  std::string folder = {};            // as in DatasetOptions
  std::int64_t training_samples = 0;  // drawn at random; 0: all
  std::int64_t validation_samples = 0;
  std::uint64_t seed = 0;
  std::vector<std::int64_t> sample_dims = {1, 28, 28};  // of synthetic samples only
};

// `name` as for load_dataset. A data set without a test part is split: `validation_samples` of it,
// by default a tenth, are set aside for validation, and a warning says so.
TrainingData load_training_data(std::string_view name, const TrainingDataOptions& options = {});

// The shape of one sample of a model's first input, without the batch axis; `fallback` if the model
// leaves it open. Synthetic data sets are made in this shape.
std::vector<std::int64_t> sample_dims_of(const Graph& graph, std::vector<std::int64_t> fallback);

}  // namespace assay
