#include "assay/training_data.h"

#include <fmt/core.h>

#include <algorithm>

namespace assay {

namespace {

Dataset limited(const Dataset& dataset, std::int64_t count, std::uint64_t seed) {
  const bool is_whole = count == 0 || count == dataset.size();
  return is_whole ? dataset : subset(dataset, count, seed);
}

TrainingData split_in_two(const Dataset& whole, const TrainingDataOptions& options) {
  const std::int64_t count = options.validation_samples > 0
                                 ? options.validation_samples
                                 : std::max<std::int64_t>(1, whole.size() / 10);
  auto [validation, training] = split_off(whole, count, options.seed);
  return {.training = limited(training, options.training_samples, options.seed),
          .validation = validation,
          .warnings = {fmt::format("data set '{}' has no test part: {} of its {} samples are set "
                                   "aside for validation",
                                   whole.name, count, whole.size())}};
}

}  // namespace

TrainingData load_training_data(std::string_view name, const TrainingDataOptions& options) {
  // A synthetic data set has as many samples as are asked for.
  DatasetOptions loading = {.folder = options.folder,
                            .seed = options.seed,
                            .sample_dims = options.sample_dims,
                            .size = options.training_samples};
  const Dataset whole = load_dataset(name, loading);
  if (!has_test_part(name)) return split_in_two(whole, options);
  loading.split = Split::Test;
  loading.size = options.validation_samples;
  return {
      .training = limited(whole, options.training_samples, options.seed),
      .validation = limited(load_dataset(name, loading), options.validation_samples, options.seed)};
}

std::vector<std::int64_t> sample_dims_of(const Graph& graph, std::vector<std::int64_t> fallback) {
  if (graph.inputs().empty()) return fallback;
  const ValueType& type = graph.value(graph.inputs()[0]).type;
  if (!type.shape || type.shape->rank() < 2) return fallback;
  const auto dims = type.shape->values();
  const std::vector<std::int64_t> sample(dims.begin() + 1, dims.end());
  const bool is_known = std::ranges::all_of(sample, [](std::int64_t dim) { return dim > 0; });
  return is_known ? sample : fallback;
}

}  // namespace assay
