// The model and the data that a sweep starts from, for each seed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "assay/graph.h"
#include "assay/sweep.h"
#include "assay/training_data.h"

namespace assay::sweep {

class Materials {
 public:
  // Throws an Error if there is no such model or data, or if they do not fit together.
  explicit Materials(const SweepConfig& config);

  const SweepConfig& config() const { return config_; }
  // What identifies the model: the SHA-256 of its file, or its name in the zoo.
  const std::string& model_identity() const { return model_identity_; }
  const std::string& model_name() const { return model_name_; }
  // Networks of the zoo have weights drawn anew; files keep theirs.
  Graph model(std::uint64_t seed) const;
  // Subsets drawn by the seed. Good until another seed is asked for.
  const TrainingData& data(std::uint64_t seed);
  const std::string& data_sha256(std::uint64_t seed);
  std::uint64_t loader_seed(std::uint64_t seed) const {
    return config_.dataloader_seed.value_or(seed);
  }

 private:
  SweepConfig config_;
  std::string model_name_;
  std::string model_identity_;
  Graph model_;
  bool is_from_zoo_ = false;
  TrainingData all_;
  std::optional<std::uint64_t> drawn_;  // the seed of `data_`
  TrainingData data_;
  std::map<std::uint64_t, std::string> data_sha256_;  // by seed
};

SweepPlan plan_with(Materials& materials);

}  // namespace assay::sweep
