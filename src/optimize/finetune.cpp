#include "optimize/finetune.h"

#include <algorithm>
#include <array>
#include <limits>

#include "assay/train.h"
#include "base/fail.h"
#include "train/training_fraction.h"

namespace assay::optimize {

namespace {

// Listens for cancellation alone: what is tried is a small part of the training that follows.
class TrialProgress : public TrainProgress {
 public:
  explicit TrialProgress(const Progress* whole) : whole_(whole) {}
  bool cancelled() const override { return whole_ != nullptr && whole_->cancelled(); }

 private:
  const Progress* whole_ = nullptr;
};

constexpr std::array kRates = {0.0005, 0.001, 0.002, 0.004};
constexpr double kUsualRate = 0.0005;
constexpr std::int64_t kBatch = 64;

// Falling to 0: a version gets over a high rate at first, and ends better than with a constant one.
TrainOptions training_options(const OptimizeOptions& options, std::int64_t epochs, double rate) {
  TrainOptions training{.epochs = epochs,
                        .batch_size = kBatch,
                        .learning_rate = rate,
                        .schedule = Schedule::Cosine,
                        .seed = options.seed};
  training.program.cpu = options.program.cpu;
  return training;
}

// A higher rate may let numbers grow beyond all bounds, which is an Error.
double loss_after(const Graph& graph, const std::pair<Dataset, Dataset>& data,
                  const TrainOptions& options, TrainProgress& progress) {
  try {
    const TrainResult trained = train_model(graph, data.second, &data.first, options, &progress);
    return trained.epochs.back().validation_loss.value_or(std::numeric_limits<double>::infinity());
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Cancelled) throw;
    return std::numeric_limits<double>::infinity();
  }
}

}  // namespace

double rate_by_trial(const Graph& graph, const Dataset& training, const OptimizeOptions& options,
                     Progress* progress) {
  // All trials together take the time of half an epoch, of large data sets less.
  constexpr std::int64_t kMostSamples = 8192;
  const std::int64_t samples =
      std::min(kMostSamples, training.size() / static_cast<std::int64_t>(2 * kRates.size()));
  const std::int64_t judged = samples / 4;
  if (samples - judged < 2 * kBatch) return kUsualRate;
  const auto data = split_off(subset(training, samples, options.seed), judged, options.seed);
  TrialProgress listener(progress);
  double best = kUsualRate;
  double least = std::numeric_limits<double>::infinity();
  for (const double rate : kRates) {
    const double loss = loss_after(graph, data, training_options(options, 1, rate), listener);
    if (loss < least) best = rate;
    least = std::min(least, loss);
  }
  return best;
}

Graph finetuned(const Graph& graph, const Dataset& training, const OptimizeOptions& options,
                Progress* progress) {
  const double rate = options.finetune_rate ? *options.finetune_rate
                                            : rate_by_trial(graph, training, options, progress);
  train::TrainingFraction listener(progress, "fine-tuning");
  return train_model(graph, training, nullptr,
                     training_options(options, options.finetune_epochs, rate), &listener)
      .model;
}

}  // namespace assay::optimize
