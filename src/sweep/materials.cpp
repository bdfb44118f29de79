#include "sweep/materials.h"

#include <algorithm>
#include <filesystem>

#include "assay/onnx.h"
#include "assay/version.h"
#include "assay/zoo.h"
#include "base/fail.h"
#include "base/sha256.h"
#include "base/text.h"
#include "train/bound_model.h"

namespace assay::sweep {

namespace {

bool equals_in_any_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// The documents' SmallCNN has a global average pool today.
std::string zoo_spec(const std::string& model) {
  constexpr std::string_view kPrefix = "zoo:";
  if (equals_in_any_case(model, "SmallCNN")) return "small_cnn_gap";
  return model.starts_with(kPrefix) ? model.substr(kPrefix.size()) : model;
}

bool is_file(const std::string& model) {
  return model.ends_with(".onnx") || model.find('/') != std::string::npos;
}

TrainingData loaded(const SweepConfig& config, const Graph& model) {
  return load_training_data(config.dataset, {.folder = config.dataset_folder,
                                             .seed = config.seed,
                                             .sample_dims = sample_dims_of(model, {1, 28, 28})});
}

Dataset drawn(const Dataset& all, std::int64_t count, std::uint64_t seed) {
  return count == 0 || count >= all.size() ? all : subset(all, count, seed);
}

void check_subset(const char* key, std::int64_t count, const Dataset& data) {
  if (count <= data.size()) return;
  fail_bad_input("{}: {}: data set '{}' has {} such samples", key, count, data.name, data.size());
}

}  // namespace

Materials::Materials(const SweepConfig& config) : config_(config) {
  is_from_zoo_ = !is_file(config.model);
  if (is_from_zoo_) {
    const std::string spec = zoo_spec(config.model);
    model_name_ = "zoo:" + spec;
    model_ = zoo_model(spec);
    model_identity_ = model_name_ + " of assay " + std::string(version());
  } else {
    model_name_ = config.model;
    model_ = read_onnx(config.model);
    model_identity_ = sha256_of_file(config.model);
  }
  all_ = loaded(config, model_);
  check_subset("train_subset", config.train_subset, all_.training);
  check_subset("val_subset", config.val_subset, all_.validation);
  for (const std::int64_t batch : config.measured_batches()) {
    train::bind_to_data(model_, all_.validation, batch);
  }
}

Graph Materials::model(std::uint64_t seed) const {
  return is_from_zoo_ ? redrawn(model_, seed) : model_;
}

const TrainingData& Materials::data(std::uint64_t seed) {
  if (drawn_ != seed) {
    data_ = {drawn(all_.training, config_.train_subset, seed),
             drawn(all_.validation, config_.val_subset, seed), all_.warnings};
    drawn_ = seed;
  }
  return data_;
}

const std::string& Materials::data_sha256(std::uint64_t seed) {
  const auto known = data_sha256_.find(seed);
  if (known != data_sha256_.end()) return known->second;
  const TrainingData& mine = data(seed);
  const std::string both = fingerprint(mine.training) + fingerprint(mine.validation);
  return data_sha256_[seed] = sha256_of({std::as_bytes(std::span(both))});
}

}  // namespace assay::sweep
