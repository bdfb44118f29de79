// Trains a model on a data set.
//
// Training with equal options, seed and threads gives equal weights to the bit, and so does
// training that was stopped and resumed from its checkpoint. Batches are full: the samples left
// over are skipped in that epoch, different ones in each. An error never damages the last
// checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/accuracy.h"
#include "assay/dataset.h"
#include "assay/graph.h"
#include "assay/program.h"
#include "assay/progress.h"
#include "assay/training_step.h"

namespace assay {

// The learning rate over time: constant, or falling to 0 along half a cosine.
enum class Schedule { Constant, Cosine };
std::string_view name(Schedule schedule);  // "constant", "cosine"
Schedule schedule_named(std::string_view name);

struct TrainOptions {
  std::int64_t epochs = 1;
  std::int64_t batch_size = 64;
  // A batch in N equal parts, and the forward pass in N segments: less memory for the same weights;
  // see TrainingStepOptions.
  std::int64_t accumulate = 1;
  std::size_t pieces = 1;
  double learning_rate = 0.001;
  Optimizer optimizer = {.kind = OptimizerKind::Adam};
  Loss loss = Loss::CrossEntropy;  // or the mean squared error from 1 for the class, 0 for others
  Schedule schedule = Schedule::Constant;
  std::uint64_t seed = 0;  // of the order of samples, and of what dropouts drop
  bool shuffle = true;     // else every epoch has the order of the data set
  // Stops after N epochs without a smaller loss on the validation data, and takes the weights
  // of the epoch that had the smallest; 0: never.
  std::int64_t patience = 0;
  std::filesystem::path checkpoint = {};  // written after every epoch; empty: none
  bool resume = false;                    // goes on from the checkpoint, if it is there
  // For memory, oneDNN's own choice of algorithms is taken. For latency they are timed once and
  // kept in the tuning file: without one, another process may choose others, whose last bits
  // differ.
  ProgramOptions program = {.optimize_for = OptimizeFor::Memory};
};

struct EpochResult {
  std::int64_t epoch = 0;  // from 1
  double loss = 0;         // the mean over its steps, while they changed the weights
  double accuracy = 0;     // likewise
  std::optional<double> validation_loss = {};
  std::optional<Accuracy> validation_accuracy = {};
  double learning_rate = 0;       // of its last step
  double samples_per_second = 0;  // trained on, without validation
  double seconds = 0;             // with validation
};

struct TrainResult {
  Graph model = {};  // as given, ready to run, with other weights and running statistics
  std::vector<EpochResult> epochs = {};  // those before a resume too
  std::int64_t resumed_after = 0;        // how many of them were in the checkpoint
  std::int64_t best_epoch = 0;           // of the smallest validation loss; else the last
  std::int64_t model_epoch = 0;          // whose weights the model has
  bool stopped_early = false;
  int threads = 0;
  ProgramMemory memory = {};  // of a training step
  double seconds = 0;         // of this call
  std::vector<std::string> warnings = {};
};

// The progress of training.
struct TrainMoment {
  std::int64_t epoch = 0;  // from 1
  std::int64_t epochs = 0;
  std::int64_t step = 0;  // of the epoch, from 1
  std::int64_t steps = 0;
  double loss = 0;  // of the epoch so far
  double accuracy = 0;
  double samples_per_second = 0;
  double seconds_left = 0;  // estimated
};

class TrainProgress : public Progress {
 public:
  virtual void stepped(const TrainMoment& /*moment*/) {}
  virtual void finished(const EpochResult& /*epoch*/) {}
};

// An Error of kind Usage names the option, its value and what is possible.
void check_train_options(const TrainOptions& options, bool has_validation);

// `validation` may be null. Options and data that do not fit are an Error before any work; numbers
// that stop being finite are one that names epoch, step and the first layer with such a number.
// Throws an Error of kind Cancelled after the step in which `progress` cancels.
TrainResult train_model(const Graph& graph, const Dataset& training, const Dataset* validation,
                        const TrainOptions& options = {}, TrainProgress* progress = nullptr);

}  // namespace assay
