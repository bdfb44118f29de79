#include "assay/latency.h"

#include "assay/error.h"
#include "assay/timing.h"
#include "base/fail.h"
#include "metrics/metric_parts.h"
#include "profile/compiled_model.h"
#include "profile/observe.h"

namespace assay {

namespace {

// Cancels with the progress of all repeats, and reports nothing of its own.
class OnlyCancels : public Progress {
 public:
  explicit OnlyCancels(const Progress& whole) : whole_(whole) {}
  bool cancelled() const override { return whole_.cancelled(); }

 private:
  const Progress& whole_;
};

Measurement measured(Program& program, std::size_t num_runs, std::size_t warmup,
                     const Progress& whole) {
  if (num_runs == 0) fail_usage("num_runs is 0: nothing would be measured");
  OnlyCancels progress(whole);
  Measurement result = measure({.work = profile::runs_of(program)},
                               {.fixed_warmup = warmup, .fixed_samples = num_runs}, &progress);
  if (result.cancelled) throw Error(ErrorKind::Cancelled, "cancelled while timing the model");
  return result;
}

}  // namespace

double measure_latency(const Graph& model, const ModelInputs& input, std::size_t num_runs,
                       std::size_t warmup, const ProgramOptions& options, Progress* progress) {
  const auto program = profile::compiled_for(model, input, options, progress);
  Progress silent;
  return measured(*program, num_runs, warmup, progress != nullptr ? *progress : silent)
      .latency.mean_ms;
}

LatencyDistribution measure_latency_distribution(const Graph& model, const ModelInputs& input,
                                                 std::size_t repeats, std::size_t num_runs,
                                                 std::size_t warmup, const ProgramOptions& options,
                                                 Progress* progress) {
  if (repeats == 0) fail_usage("repeats is 0: nothing would be measured");
  const auto program = profile::compiled_for(model, input, options, progress);
  std::vector<double> means;
  std::vector<double> samples;
  Progress silent;
  Progress& listener = progress != nullptr ? *progress : silent;
  for (std::size_t i = 0; i < repeats; ++i) {
    listener.report(static_cast<double>(i) / static_cast<double>(repeats), "timing");
    const Measurement repeat = measured(*program, num_runs, warmup, listener);
    means.push_back(repeat.latency.mean_ms);
    samples.insert(samples.end(), repeat.samples_ms.begin(), repeat.samples_ms.end());
  }
  return metrics::distribution_of(std::move(means), std::move(samples));
}

}  // namespace assay
