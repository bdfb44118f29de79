#include "assay/cost.h"
#include "assay/sweep.h"
#include "sweep/materials.h"
#include "sweep/this_host.h"
#include "train/bound_model.h"

namespace assay {

namespace {

// Of the peak: how much of it ordinary networks reach.
constexpr double kReached = 0.3;
// FLOP/s where the peak of this machine was never measured.
constexpr double kAssumedFlops = 20e9;
// A step of training does about three times the work of a forward pass.
constexpr double kTrainingWork = 3;
// Starting a process, compiling, choosing algorithms.
constexpr double kStartSeconds = 0.1;

struct Speeds {
  double flops_per_sample = 0;
  double flops_per_second = 0;
  double seconds(double samples) const { return samples * flops_per_sample / flops_per_second; }
};

double runs_of(const SweepConfig& config) {
  return static_cast<double>(2 * config.benchmark_trials *
                             (config.benchmark_repeats * 2 + config.benchmark_warmup + 3));
}

double task_seconds(const SweepTask& task, const SweepConfig& config, const TrainingData& data,
                    const Speeds& speeds) {
  const auto training = static_cast<double>(data.training.size());
  const auto validation = static_cast<double>(data.validation.size());
  switch (task.kind) {
    case SweepTaskKind::Train:
      return speeds.seconds(kTrainingWork * training * static_cast<double>(config.epochs));
    case SweepTaskKind::Prune:
      return speeds.seconds(kTrainingWork * training *
                            static_cast<double>(config.fine_tune_epochs));
    case SweepTaskKind::Quantize:
      return speeds.seconds(static_cast<double>(config.calibration_batches * config.batch_size));
    case SweepTaskKind::Measure:
    case SweepTaskKind::Deploy:
      return speeds.seconds(validation + runs_of(config) * static_cast<double>(task.batch_size));
  }
  return 0;
}

}  // namespace

std::vector<double> estimate_seconds(const SweepPlan& plan) {
  sweep::Materials materials(plan.config);
  const std::uint64_t seed = plan.config.all_seeds().front();
  const TrainingData& data = materials.data(seed);
  const auto bound = train::bind_to_data(materials.model(seed), data.validation, 1);
  const SweepHost host = sweep::this_host();
  const Speeds speeds{
      .flops_per_sample = static_cast<double>(count_costs(bound.model).totals.flops),
      .flops_per_second = host.peak_gflops ? *host.peak_gflops * 1e9 * kReached : kAssumedFlops};
  std::vector<double> seconds;
  for (const SweepTask& task : plan.tasks) {
    seconds.push_back(kStartSeconds + task_seconds(task, plan.config, data, speeds));
  }
  return seconds;
}

}  // namespace assay
