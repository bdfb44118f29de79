#include "assay/optimize_data.h"

#include <algorithm>

#include "assay/npy.h"
#include "assay/npz.h"
#include "assay/program.h"
#include "base/fail.h"
#include "base/text.h"
#include "train/bound_model.h"

namespace assay {

namespace {

constexpr std::int64_t kBatchToJudge = 64;
constexpr std::int64_t kBatchToCalibrate = 16;
constexpr std::size_t kFewestToSplit = 4;

// Old files list their weights among the inputs.
std::vector<Value> inputs_to_feed(const Graph& model) {
  std::vector<Value> inputs;
  for (const ValueId id : model.inputs()) {
    if (model.initializer(id) == nullptr) inputs.push_back(model.value(id));
  }
  return inputs;
}

std::vector<ModelInputs> batches_of(const Graph& model, const Dataset& data) {
  const std::int64_t batch_size = std::min(kBatchToCalibrate, data.size());
  const Loader loader(data, {.batch_size = batch_size, .shuffle = false, .drop_last = true});
  const auto bound = train::bind_to_data(model, data, batch_size);
  std::vector<ModelInputs> batches;
  for (std::int64_t i = 0; i < loader.batches(); ++i) {
    batches.emplace_back(train::fitted_samples(loader.batch(i).samples, bound));
  }
  return batches;
}

std::vector<std::filesystem::path> input_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
    const auto extension = entry.path().extension();
    if (extension == ".npy" || extension == ".npz") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

Tensor as_float32(const Tensor& tensor) {
  const std::vector<double> numbers = tensor.to_double();
  const std::vector<float> narrow(numbers.begin(), numbers.end());
  return Tensor::of_float(tensor.dims(), narrow);
}

// In the type of the input, with an axis for the batch.
Tensor fitted(Tensor tensor, const Value& input, const std::string& file) {
  if (tensor.type() == DataType::Float64 && input.type.element == DataType::Float32) {
    tensor = as_float32(tensor);
  }
  if (tensor.type() != input.type.element) {
    fail_bad_input("{}: holds {}, input '{}' takes {}", file, name(tensor.type()), input.name,
                   input.type.to_string());
  }
  const auto& shape = input.type.shape;
  if (shape && shape->rank() == tensor.dims().size() + 1) {
    std::vector<std::int64_t> dims = tensor.dims();
    dims.insert(dims.begin(), 1);
    return tensor.reshaped(dims);
  }
  return tensor;
}

ModelInputs read_inputs(const std::filesystem::path& file, const std::vector<Value>& inputs) {
  if (file.extension() == ".npy") {
    if (inputs.size() == 1) return fitted(read_npy(file), inputs.front(), file.string());
    fail_bad_input(
        "{}: one array, but the model has {} inputs; store .npz files with one array for "
        "each input, by name",
        file.string(), inputs.size());
  }
  const auto arrays = read_npz(file);
  std::vector<Tensor> tensors;
  for (const Value& input : inputs) {
    const auto found = arrays.find(input.name);
    if (found == arrays.end()) {
      fail_bad_input("{}: has no array '{}', which the model takes", file.string(), input.name);
    }
    tensors.push_back(fitted(found->second, input, file.string()));
  }
  return tensors;
}

void check_same_shapes(const ModelInputs& one, const ModelInputs& first, const std::string& file) {
  for (std::size_t i = 0; i < one.tensors.size(); ++i) {
    if (one.tensors[i].dims() == first.tensors[i].dims()) continue;
    fail_bad_input("{}: an array of {}, those before are {}", file,
                   join_dims(one.tensors[i].dims()), join_dims(first.tensors[i].dims()));
  }
}

}  // namespace

OptimizeData labelled_data(const Graph& model, TrainingData data, std::int64_t calibration_samples,
                           std::uint64_t seed) {
  OptimizeData made;
  const std::int64_t count = std::min(calibration_samples, data.training.size());
  made.calibration = batches_of(model, subset(data.training, count, seed));
  made.calibrated_on =
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

bool holds_input_files(const std::filesystem::path& folder) {
  return !input_files(folder).empty();
}

std::vector<ModelInputs> read_input_folder(const std::filesystem::path& folder,
                                           const Graph& model) {
  const auto inputs = inputs_to_feed(model);
  std::vector<ModelInputs> batches;
  for (const auto& file : input_files(folder)) {
    batches.push_back(read_inputs(file, inputs));
    check_same_shapes(batches.back(), batches.front(), file.string());
  }
  if (batches.empty()) fail_bad_input("{}: holds no .npy or .npz file", folder.string());
  return batches;
}

OptimizeData unlabelled_data(std::vector<ModelInputs> batches, const std::string& described_as) {
  OptimizeData data;
  const bool is_split = batches.size() >= kFewestToSplit;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const bool judges = i % kFewestToSplit == kFewestToSplit - 1;
    if (judges || !is_split) data.inputs.push_back(batches[i]);
    if (!judges || !is_split) data.calibration.push_back(std::move(batches[i]));
  }
  data.calibrated_on = fmt::format("{} batches of {}", data.calibration.size(), described_as);
  data.judged_on = fmt::format("{} batches of {}{}: agreement with the original",
                               data.inputs.size(), described_as, is_split ? ", set aside" : "");
  if (!is_split) {
    data.warnings.push_back(fmt::format(
        "{}: fewer than four batches, so that versions are judged on what they are calibrated with",
        described_as));
  }
  return data;
}

}  // namespace assay
