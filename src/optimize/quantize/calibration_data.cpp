#include <algorithm>
#include <map>
#include <memory>

#include "assay/npy.h"
#include "assay/quantize.h"
#include "base/fail.h"

namespace assay {

namespace {

namespace fs = std::filesystem;

std::optional<std::size_t> declared_rank(const Graph& model, ValueId input) {
  const auto& shape = model.value(input).type.shape;
  return shape ? std::optional(shape->rank()) : std::nullopt;
}

// With an axis for the batch where the model has one and the tensor has not.
Tensor with_batch_axis(const Tensor& tensor, const Graph& model, ValueId input) {
  const auto rank = declared_rank(model, input);
  if (!rank || tensor.dims().size() + 1 != *rank) return tensor;
  std::vector<std::int64_t> dims = tensor.dims();
  dims.insert(dims.begin(), 1);
  return tensor.reshaped(dims);
}

// The model's dimensions after the batch, where all are known and hold as many elements.
Tensor in_shape_of_input(const Tensor& samples, const Graph& model) {
  const auto& shape = model.value(model.inputs().front()).type.shape;
  if (!shape || shape->rank() == 0) return samples;
  std::vector<std::int64_t> dims = {samples.dims().front()};
  std::int64_t wanted = dims[0];
  for (std::size_t i = 1; i < shape->rank(); ++i) {
    const Dim& dim = (*shape)[i];
    if (!dim.is_known()) return samples;
    dims.push_back(dim.value());
    wanted *= dim.value();
  }
  return wanted == samples.elements() ? samples.reshaped(dims) : samples;
}

// How many samples the model takes at a time, where it is fixed.
std::optional<std::int64_t> fixed_batch(const Graph& model) {
  const auto& shape = model.value(model.inputs().front()).type.shape;
  if (!shape || shape->rank() == 0 || !(*shape)[0].is_known()) return {};
  return (*shape)[0].value();
}

std::vector<fs::path> npy_files(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".npy") files.push_back(entry.path());
  }
  if (error) fail_bad_input("{}: {}", folder.string(), error.message());
  if (files.empty())
    fail_bad_input("{}: there is no .npy file in this folder to calibrate with", folder.string());
  std::ranges::sort(files);
  return files;
}

// The input whose name the file begins with; of several, the longest.
std::size_t input_of_file(const fs::path& file, const Graph& model) {
  const std::string stem = file.stem().string();
  std::optional<std::size_t> found;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const std::string& name = model.value(model.inputs()[i]).name;
    if (!stem.starts_with(name) || name.size() < longest) continue;
    found = i;
    longest = name.size();
  }
  if (found) return *found;
  std::string names;
  for (const ValueId input : model.inputs())
    names += (names.empty() ? "'" : ", '") + model.value(input).name + "'";
  fail_bad_input("{}: the file's name begins with none of the model's inputs, which are {}",
                 file.string(), names);
}

// By what follows the input's name, one file for each input.
std::vector<std::vector<fs::path>> files_by_batch(const std::vector<fs::path>& files,
                                                  const Graph& model) {
  std::map<std::string, std::vector<fs::path>> batches;
  for (const fs::path& file : files) {
    const std::size_t input = input_of_file(file, model);
    const std::string& name = model.value(model.inputs()[input]).name;
    auto& batch = batches[file.stem().string().substr(name.size())];
    batch.resize(model.inputs().size());
    batch[input] = file;
  }
  std::vector<std::vector<fs::path>> result;
  for (auto& [suffix, batch] : batches) {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const std::string& name = model.value(model.inputs()[i]).name;
      if (batch[i].empty())
        fail_bad_input(
            "there is no file {}{}.npy beside {}", name, suffix,
            std::ranges::find_if(batch, [](const auto& p) { return !p.empty(); })->string());
    }
    result.push_back(std::move(batch));
  }
  return result;
}

}  // namespace

CalibrationData calibration_data(std::vector<std::vector<Tensor>> batches) {
  const auto shared = std::make_shared<const std::vector<std::vector<Tensor>>>(std::move(batches));
  return {.batches = shared->size(),
          .batch = [shared](std::size_t i) { return (*shared)[i]; },
          .source = "tensors"};
}

CalibrationData calibration_data(const Loader& loader, const Graph& model, std::size_t batches) {
  if (model.inputs().size() != 1)
    fail_bad_input("the model has {} inputs; a data set gives one", model.inputs().size());
  const auto all = static_cast<std::size_t>(loader.batches());
  const std::size_t count = batches == 0 ? all : std::min(batches, all);
  const std::int64_t rows = fixed_batch(model).value_or(loader.batch(0).samples.dims().front());
  const std::int64_t given = loader.batch(0).samples.dims().front();
  const auto parts = static_cast<std::size_t>(std::max<std::int64_t>(1, given / rows));
  const auto batch = [&loader, model = model.declarations(), rows, parts](std::size_t i) {
    const Tensor samples = loader.batch(static_cast<std::int64_t>(i / parts)).samples;
    const auto first = static_cast<std::int64_t>(i % parts) * rows;
    const std::int64_t left = std::max<std::int64_t>(samples.dims().front() - first, 0);
    const Tensor part = left >= rows ? samples.rows(first, rows)
                                     : samples.rows(0, std::min(rows, samples.dims().front()));
    return std::vector{in_shape_of_input(part, model)};
  };
  return {.batches = count * parts, .batch = batch, .source = loader.dataset().name};
}

CalibrationData calibration_folder(const fs::path& folder, const Graph& model) {
  const std::vector<fs::path> files = npy_files(folder);
  std::vector<std::vector<fs::path>> batches;
  if (model.inputs().size() == 1) {
    for (const fs::path& file : files) batches.push_back({file});
  } else {
    batches = files_by_batch(files, model);
  }
  const auto read = [batches, model = model.declarations()](std::size_t i) {
    std::vector<Tensor> tensors;
    for (std::size_t input = 0; input < batches[i].size(); ++input)
      tensors.push_back(with_batch_axis(read_npy(batches[i][input]), model, model.inputs()[input]));
    return tensors;
  };
  return {.batches = batches.size(), .batch = read, .source = folder.string()};
}

}  // namespace assay
