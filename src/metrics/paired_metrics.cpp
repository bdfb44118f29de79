#include "metrics/paired_metrics.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "assay/comparison.h"
#include "assay/timing.h"
#include "base/fail.h"
#include "base/part_of_progress.h"
#include "metrics/metered_energy.h"
#include "metrics/metric_parts.h"
#include "profile/compiled_model.h"
#include "profile/observe.h"
#include "train/bound_model.h"
#include "train/target.h"

namespace assay::metrics {

namespace {

// A turn lasts about this long, so that a change of the machine's speed meets both.
constexpr double kTurnMs = 1;
constexpr double kMostRunsInTurn = 100;

std::size_t runs_in_turn(double run_ms) {
  return static_cast<std::size_t>(std::clamp(std::ceil(kTurnMs / run_ms), 1.0, kMostRunsInTurn));
}

// The samples of one side over all trials.
struct Side {
  std::vector<double> repeat_means_ms = {};
  std::vector<double> samples_ms = {};
  std::vector<ProcessSamples> trials = {};
};

// One side in one trial: a freshly compiled program.
class Contestant {
 public:
  Contestant(const Graph& model, const Tensor& samples, const ProgramOptions& options,
             std::size_t warmup)
      : program_(profile::compiled_for(model, samples, options)) {
    const std::size_t last = warmup > 0 ? 1 : 0;  // of the warm-up: tells how long a run takes
    const Measurement first = measure({.work = profile::runs_of(*program_)},
                                      {.fixed_warmup = warmup - last, .fixed_samples = 1});
    runs_ = runs_in_turn(first.latency.min_ms);
  }

  int threads() const { return program_->threads(); }

  // The first run finds the other's data in the caches and does not count.
  void take_turn() {
    const Measurement turn =
        measure({.work = profile::runs_of(*program_)}, {.fixed_warmup = 1, .fixed_samples = runs_});
    means_.push_back(turn.latency.mean_ms);
    samples_.values.insert(samples_.values.end(), turn.samples_ms.begin(), turn.samples_ms.end());
    samples_.turn_ends.push_back(samples_.values.size());
  }

  void add_to(Side& side) {
    side.repeat_means_ms.insert(side.repeat_means_ms.end(), means_.begin(), means_.end());
    side.samples_ms.insert(side.samples_ms.end(), samples_.values.begin(), samples_.values.end());
    side.trials.push_back(std::move(samples_));
  }

 private:
  std::unique_ptr<Program> program_;
  std::size_t runs_ = 1;
  std::vector<double> means_;
  ProcessSamples samples_;
};

struct Contest {
  Side version = {};
  Side baseline = {};
  int threads = 0;
};

struct Contenders {
  const Graph& version;
  const Graph& baseline;
  ProgramOptions version_options;
  ProgramOptions baseline_options;
  const Tensor& samples;
};

// Who begins alternates, so that neither profits from its place.
void hold_trial(const Contenders& contenders, const PairedOptions& options, bool version_first,
                Contest& contest) {
  Contestant version(contenders.version, contenders.samples, contenders.version_options,
                     options.warmup);
  Contestant baseline(contenders.baseline, contenders.samples, contenders.baseline_options,
                      options.warmup);
  for (std::size_t turn = 0; turn < options.repeats; ++turn) {
    if (version_first) version.take_turn();
    baseline.take_turn();
    if (!version_first) version.take_turn();
  }
  contest.threads = version.threads();
  version.add_to(contest.version);
  baseline.add_to(contest.baseline);
}

Contest hold_contest(const Contenders& contenders, const PairedOptions& options,
                     Progress& progress) {
  Contest contest;
  for (std::size_t trial = 0; trial < options.trials; ++trial) {
    if (progress.cancelled()) {
      throw Error(ErrorKind::Cancelled, "cancelled while timing the model");
    }
    progress.report(static_cast<double>(trial) / static_cast<double>(options.trials), "timing");
    hold_trial(contenders, options, trial % 2 == 0, contest);
  }
  return contest;
}

}  // namespace

PairedMetrics collect_paired_metrics(const Graph& version, std::string_view precision,
                                     const Graph& baseline, const Loader& loader,
                                     const PairedOptions& options, Progress* progress) {
  check_positive("power in watts", options.power_watts);
  check_positive("latency multiplier", options.latency_multiplier);
  const ProgramOptions program = train::in_precision(options.program, precision);
  const Batch batch = loader.batch(0);
  const std::int64_t batch_size = batch.labels.elements();
  const train::BoundModel bound = train::bind_to_data(version, loader.dataset(), batch_size);
  const Tensor samples = train::fitted_samples(batch.samples, bound);
  PartOfProgress evaluating(progress, 0, 0.3, "evaluating");
  PartOfProgress timing(progress, 0.3, 1, "timing");
  PairedMetrics paired;
  paired.accuracy = options.known_accuracy
                        ? *options.known_accuracy
                        : evaluate(version, loader, {.program = program}, &evaluating).accuracy;
  const Contest contest =
      hold_contest({version, baseline, program, options.program, samples}, options, timing);
  const Comparison comparison = compare_samples(contest.baseline.trials, contest.version.trials);
  paired.ratio = comparison.ratio;
  paired.ratio_ci95_low = comparison.ci95_low;
  paired.ratio_ci95_high = comparison.ci95_high;
  paired.threads = contest.threads;
  add_accuracy(paired.accuracy, paired.metrics);
  add_latency(distribution_of(contest.version.repeat_means_ms, contest.version.samples_ms),
              options.latency_multiplier, batch_size, paired.metrics);
  add_memory(version, bound.model, program.precision, paired.metrics);
  add_energy(metered_energy(version, samples, program), options.power_watts,
             options.latency_multiplier, paired.metrics);
  return paired;
}

}  // namespace assay::metrics
