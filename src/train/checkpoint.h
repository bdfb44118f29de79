// The state of training in one file: all that is needed to resume as if it had not been
// interrupted.
//
// The file is a .npz that NumPy opens: `setup` and `state_names` are text as bytes, `epochs` is a
// table, `state_N` and `best_N` are tensors. Damage is an Error that names the byte.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "assay/train.h"

namespace assay::train {

// What must be the same to resume training, each with a readable name.
using TrainingSetup = std::vector<std::pair<std::string, std::string>>;
TrainingSetup setup_of(const Graph& model, const Dataset& training, const Dataset* validation,
                       const TrainOptions& options);

struct Checkpoint {
  TrainingSetup setup = {};
  std::vector<std::string> state_names = {};
  std::vector<EpochResult> epochs = {};  // finished
  std::vector<Tensor> state = {};        // after the last of them
  std::vector<Tensor> best = {};         // after the best of them; empty if not needed
};

void write_checkpoint(const Checkpoint& checkpoint, const std::filesystem::path& path);
// Refuses a checkpoint of another training and names the first difference.
Checkpoint read_checkpoint(const std::filesystem::path& path, const TrainingSetup& setup);

}  // namespace assay::train
