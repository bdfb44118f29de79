#include "assay/optimize_data.h"

#include <algorithm>

#include "assay/program.h"
#include "base/fail.h"
#include "base/text.h"
#include "train/bound_model.h"

namespace assay {

namespace {

constexpr std::int64_t kBatchToJudge = 64;
// Layers are timed on a calibration batch, and models usually run on one sample.
constexpr std::int64_t kBatchToCalibrate = 1;
constexpr std::size_t kFewestToSplit = 4;

// Old files list their weights among the inputs.
std::vector<Value> inputs_to_feed(const Graph& model) {
  std::vector<Value> inputs;
  for (const ValueId id : model.inputs()) {
    if (model.initializer(id) == nullptr) inputs.push_back(model.value(id));
  }
  return inputs;
}

std::vector<std::vector<Tensor>> calibration_batches(const Graph& model, const Dataset& data) {
  const std::int64_t batch_size = std::min(kBatchToCalibrate, data.size());
  const Loader loader(data, {.batch_size = batch_size, .shuffle = false, .drop_last = true});
  const auto bound = train::bind_to_data(model, data, batch_size);
  std::vector<std::vector<Tensor>> batches;
  for (std::int64_t i = 0; i < loader.batches(); ++i) {
    batches.push_back({train::fitted_samples(loader.batch(i).samples, bound)});
  }
  return batches;
}

// The first axis is the batch, which may be any.
bool fits(const Tensor& tensor, const ValueType& type) {
  if (!type.shape) return true;
  if (type.shape->rank() != tensor.dims().size()) return false;
  for (std::size_t axis = 1; axis < tensor.dims().size(); ++axis) {
    const Dim& dim = (*type.shape)[axis];
    if (dim.is_known() && dim.value() != tensor.dims()[axis]) return false;
  }
  return true;
}

void check_fits(const Graph& model, const std::vector<Tensor>& batch, const std::string& source) {
  const auto inputs = inputs_to_feed(model);
  for (std::size_t i = 0; i < std::min(inputs.size(), batch.size()); ++i) {
    if (fits(batch[i], inputs[i].type)) continue;
    fail_bad_input("{}: an array of {}, but input '{}' is {}", source, join_dims(batch[i].dims()),
                   inputs[i].name, inputs[i].type.to_string());
  }
}

}  // namespace

OptimizeData labelled_data(const Graph& model, TrainingData data, std::int64_t calibration_samples,
                           std::uint64_t seed) {
  OptimizeData made;
  const std::int64_t count = std::min(calibration_samples, data.training.size());
  made.calibration =
      calibration_data(calibration_batches(model, subset(data.training, count, seed)));
  made.calibration.source =
      fmt::format("{} training samples of {}", with_thousands(count), data.training.name);
  const std::int64_t batch_size = std::min(kBatchToJudge, data.validation.size());
  made.judged_on = fmt::format("{} samples of {}, set aside",
                               with_thousands(data.validation.size()), data.validation.name);
  made.labelled.emplace(data.validation, LoaderOptions{.batch_size = batch_size, .shuffle = false});
  made.training = std::move(data.training);
  made.warnings = std::move(data.warnings);
  return made;
}

std::vector<ModelInputs> seeded_inputs(const Graph& model, const Bindings& bindings,
                                       std::int64_t samples, std::uint64_t seed) {
  const auto inputs = inputs_to_feed(bind_inputs(model, bindings).graph);
  const bool has_batch = !inputs.empty() && inputs.front().type.has_known_shape() &&
                         inputs.front().type.shape->rank() > 0;
  const std::int64_t batch = has_batch ? (*inputs.front().type.shape)[0].value() : 1;
  std::vector<ModelInputs> batches;
  for (std::int64_t done = 0; done < samples; done += std::max<std::int64_t>(1, batch)) {
    batches.emplace_back(random_inputs(inputs, seed + batches.size() + 1));
  }
  return batches;
}

OptimizeData unlabelled_data(const Graph& model, const CalibrationData& all) {
  for (std::size_t i = 0; i < all.batches; ++i) check_fits(model, all.batch(i), all.source);
  OptimizeData data;
  const bool is_split = all.batches >= kFewestToSplit;
  std::vector<std::vector<Tensor>> calibrating;
  for (std::size_t i = 0; i < all.batches; ++i) {
    const bool judges = i % kFewestToSplit == kFewestToSplit - 1;
    if (judges || !is_split) data.inputs.emplace_back(all.batch(i));
    if (!judges || !is_split) calibrating.push_back(all.batch(i));
  }
  data.judged_on = fmt::format("{} batches of {}{}: agreement with the original",
                               data.inputs.size(), all.source, is_split ? ", set aside" : "");
  if (!is_split) {
    data.warnings.push_back(fmt::format(
        "{}: fewer than four batches, so that versions are judged on what they are calibrated with",
        all.source));
  }
  const std::string described = fmt::format("{} batches of {}", calibrating.size(), all.source);
  data.calibration = calibration_data(std::move(calibrating));
  data.calibration.source = described;
  return data;
}

}  // namespace assay
