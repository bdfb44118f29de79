#include "cli/optimize_data.h"

#include <filesystem>

#include "base/fail.h"
#include "cli/model_argument.h"

namespace assay::cli {

namespace {

constexpr std::string_view kRandom = "random";
constexpr std::int64_t kCalibrationSamples = 128;
constexpr std::int64_t kSeededSamples = 32;
constexpr std::uint64_t kApart = 1'000'000;  // seeds of inputs to calibrate with and to judge on

bool is_input_folder(const std::string& name) {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(name, failed)) {
    if (entry.path().extension() == ".npy") return true;
  }
  return false;
}

// A folder without a file of a known kind.
bool is_folder_without_data(const std::string& name) {
  std::error_code failed;
  if (!std::filesystem::is_directory(name, failed)) return false;
  for (const auto& entry : std::filesystem::directory_iterator(name, failed)) {
    const std::string file = entry.path().filename().string();
    if (file.ends_with(".npy") || file.find("ubyte") != std::string::npos) return false;
  }
  return !failed;
}

bool is_labelled(const std::string& name) {
  return !name.empty() && name != kRandom && !is_input_folder(name);
}

OptimizeData labelled(const std::string& name, const OptimizeDataArguments& arguments,
                      const Graph& graph, std::uint64_t seed) {
  const DatasetOptions loading = dataset_options(arguments.data, graph, seed);
  TrainingData data =
      load_training_data(name, {.folder = loading.folder,
                                .validation_samples = validation_count(arguments.data),
                                .seed = seed,
                                .sample_dims = loading.sample_dims});
  return labelled_data(graph, std::move(data),
                       count_or("--calibration-samples", arguments.samples, kCalibrationSamples),
                       seed);
}

OptimizeData seeded(const OptimizeDataArguments& arguments, const RequestedModel& request,
                    std::uint64_t seed) {
  OptimizeData data;
  const Bindings& bindings = request.run.bindings;
  data.inputs = seeded_inputs(request.graph, bindings, kSeededSamples, seed);
  data.judged_on = fmt::format("{} batches of seeded random inputs: agreement with the original",
                               data.inputs.size());
  if (arguments.calibrate != kRandom) return data;
  const std::int64_t samples =
      count_or("--calibration-samples", arguments.samples, kCalibrationSamples);
  std::vector<std::vector<Tensor>> batches;
  for (ModelInputs& inputs : seeded_inputs(request.graph, bindings, samples, seed + kApart)) {
    batches.push_back(std::move(inputs.tensors));
  }
  data.calibration = calibration_data(std::move(batches));
  data.calibration.source =
      fmt::format("{} batches of seeded random inputs", data.calibration.batches);
  data.warnings.emplace_back(
      "calibrated with random inputs: ranges of activations are not those of real data, so expect "
      "to lose more; give --calibrate a data set or a folder of .npy files");
  return data;
}

// The content of --input NAME=x.npy; inputs without content are seeded.
void judge_on_given(const RequestedModel& request, std::uint64_t seed, OptimizeData& data) {
  Bindings bindings = request.run.bindings;
  for (const auto& [name, tensor] : request.run.inputs) {
    bindings.input_shapes.emplace(name, tensor.shape());
  }
  ModelInputs inputs = seeded_inputs(request.graph, bindings, 1, seed).front();
  std::size_t at = 0;
  for (const ValueId id : request.graph.inputs()) {
    if (request.graph.initializer(id) != nullptr) continue;
    const auto given = request.run.inputs.find(request.graph.value(id).name);
    if (given != request.run.inputs.end()) inputs.tensors[at] = given->second;
    ++at;
  }
  data.inputs = {std::move(inputs)};
  data.judged_on = "the inputs given: agreement with the original";
}

OptimizeData data_to_calibrate(const OptimizeDataArguments& arguments,
                               const RequestedModel& request, std::uint64_t seed) {
  if (is_input_folder(arguments.calibrate)) {
    return unlabelled_data(request.graph, calibration_folder(arguments.calibrate, request.graph));
  }
  if (is_folder_without_data(arguments.calibrate)) {
    fail_bad_input(
        "{}: the folder has no .npy files to calibrate with, nor IDX files of a data set",
        arguments.calibrate);
  }
  if (is_labelled(arguments.calibrate)) {
    return labelled(arguments.calibrate, arguments, request.graph, seed);
  }
  return seeded(arguments, request, seed);
}

}  // namespace

void add_optimize_data_options(Command& command, OptimizeDataArguments& arguments) {
  add_data_options(command, arguments.data);
  command.add_option("--calibrate DATA", arguments.calibrate,
                     "calibrate int8 with a data set (as --dataset names them), a folder of .npy "
                     "files, or 'random' for seeded inputs; default: the training part of "
                     "--dataset");
  command.add_option("--calibration-samples N", arguments.samples,
                     "calibrate with N samples of a data set; default 128");
}

bool gives_data(const OptimizeDataArguments& arguments, const RequestedModel& request) {
  return !arguments.data.dataset.empty() || !arguments.calibrate.empty() ||
         !request.run.inputs.empty();
}

OptimizeData requested_data(const OptimizeDataArguments& arguments, const RequestedModel& request,
                            std::uint64_t seed) {
  if (arguments.data.dataset.empty()) {
    OptimizeData data = data_to_calibrate(arguments, request, seed);
    if (!request.run.inputs.empty() && !data.labelled) judge_on_given(request, seed, data);
    return data;
  }
  OptimizeData data = labelled(arguments.data.dataset, arguments, request.graph, seed);
  if (arguments.calibrate.empty()) return data;
  OptimizeData other = data_to_calibrate(arguments, request, seed);
  data.calibration = std::move(other.calibration);
  data.warnings.insert(data.warnings.end(), other.warnings.begin(), other.warnings.end());
  return data;
}

}  // namespace assay::cli
