#include <algorithm>
#include <cmath>
#include <numeric>

#include "assay/fit.h"
#include "assay/profile.h"
#include "base/fail.h"
#include "base/part_of_progress.h"
#include "base/utc_time.h"
#include "profile/compiled_model.h"
#include "profile/fit/efficiency.h"
#include "profile/step_overhead.h"
#include "stats/order_statistics.h"

namespace assay {

using namespace assay::profile;

namespace {

// Times are taken as the command line takes them.
CpuOptions pinned(int threads) {
  return {.threads = threads, .pin_threads = true};
}

struct MeasuredNetwork {
  bool was_disturbed = false;
  bool is_held_out = true;
  std::string name;
  std::string family;
  std::vector<ClassifiedOperator> operators;
  std::vector<double> times_ms = {};  // of the operators
  double measured_ms = 0;
};

// The time of every operator: that of the layers whose nodes it holds, and its share of what
// belongs to no layer, such as changes of layout.
std::vector<double> times_of(const std::vector<ClassifiedOperator>& operators,
                             const Profile& profile) {
  std::vector<double> times;
  for (const ClassifiedOperator& fused : operators) {
    double time = 0;
    for (const NodeId node : fused.nodes) {
      if (node.number < profile.layers.size()) {
        time += profile.layers[node.number].time_ms.value_or(0);
      }
    }
    times.push_back(time);
  }
  const double attributed = std::accumulate(times.begin(), times.end(), 0.0);
  if (attributed <= 0) return times;
  for (double& time : times) time *= profile.run_ms() / attributed;
  return times;
}

bool was_disturbed(const Measurement& measured) {
  return std::ranges::any_of(measured.warnings, [](const TimingWarning& warning) {
    const bool is_disturbance = warning.name == "competing-load" || warning.name == "steal-time" ||
                                warning.name == "under-voltage" || warning.name == "throttling";
    return is_disturbance && warning.makes_noisy;
  });
}

MeasuredNetwork measured_network(const CalibrationNetwork& one, int threads, Progress* progress) {
  const Graph graph = one.make();
  RunOptions run;
  run.program.cpu = pinned(threads);
  MeasuredNetwork network{
      .is_held_out = one.is_held_out,
      .name = one.name,
      .family = one.family,
      .operators = classified_operators(prepare_to_run(graph, one.name, run).inferred)};
  ProfileOptions options{.run = run, .judge = false};
  options.timing.min_seconds = 0.2;
  options.timing.max_seconds = 1.0;
  const Profile profile = profile_model(graph, one.name, options, progress);
  if (profile.was_interrupted()) throw Error(ErrorKind::Cancelled, "cancelled while calibrating");
  network.measured_ms = profile.latency.latency.median_ms;
  network.was_disturbed = was_disturbed(profile.latency);
  network.times_ms = times_of(network.operators, profile);
  return network;
}

MeasuredNetwork mean_of(MeasuredNetwork one, const MeasuredNetwork& other) {
  one.measured_ms = std::midpoint(one.measured_ms, other.measured_ms);
  for (std::size_t i = 0; i < one.times_ms.size(); ++i) {
    one.times_ms[i] = std::midpoint(one.times_ms[i], other.times_ms[i]);
  }
  return one;
}

// Other programs only make a run slower: of two disturbed rounds the faster one is nearer to the
// truth, and of one disturbed round nothing is kept.
MeasuredNetwork better_of(MeasuredNetwork one, MeasuredNetwork other) {
  if (!one.was_disturbed && !other.was_disturbed) return mean_of(std::move(one), other);
  if (one.was_disturbed != other.was_disturbed) return one.was_disturbed ? other : one;
  return one.measured_ms <= other.measured_ms ? one : other;
}

// Everything is measured once, then again: some machines are slower for minutes, and a prediction
// should be of how fast they usually are.
std::vector<MeasuredNetwork> measured_networks(const std::vector<CalibrationNetwork>& networks,
                                               int threads, Progress* progress) {
  const auto all = static_cast<double>(2 * networks.size());
  double done = 0;
  const auto measured = [&](const CalibrationNetwork& network) {
    PartOfProgress part(progress, done / all, (done + 1) / all, "calibrating");
    ++done;
    return measured_network(network, threads, &part);
  };
  std::vector<MeasuredNetwork> results;
  for (const CalibrationNetwork& network : networks) results.push_back(measured(network));
  for (std::size_t i = 0; i < networks.size(); ++i) {
    results[i] = better_of(std::move(results[i]), measured(networks[i]));
  }
  return results;
}

void add_samples(const MeasuredNetwork& network, const Roofline& roofline,
                 std::vector<EfficiencySample>& samples) {
  for (std::size_t i = 0; i < network.operators.size(); ++i) {
    samples.push_back(
        sample_of(network.family, network.operators[i], roofline, network.times_ms[i]));
  }
}

HeldOut predicted_from_others(const MeasuredNetwork& network, const Roofline& roofline,
                              const std::vector<EfficiencySample>& samples) {
  const Efficiency efficiency(samples, network.family);
  return {.model = network.name,
          .measured_ms = network.measured_ms,
          .estimated_ms = estimated_ms(network.operators, roofline, efficiency),
          .bound_ms = bound_ms(network.operators, roofline)};
}

std::vector<double> absolute_errors(const std::vector<HeldOut>& held_out) {
  std::vector<double> errors;
  for (const HeldOut& one : held_out) errors.push_back(std::abs(one.error()));
  return errors;
}

}  // namespace

double Calibration::median_error() const {
  return stats::median(absolute_errors(held_out));
}

double Calibration::wide_error() const {
  return stats::quantile_of_sorted(stats::sorted(absolute_errors(held_out)), 0.9);
}

bool Calibration::is_trustworthy() const {
  return 3 * static_cast<int>(disturbed.size()) <= network_count;
}

Calibration calibrate(const Machine& machine, int threads,
                      const std::vector<CalibrationNetwork>& networks, Progress* progress) {
  auto roofline = roofline_of(machine, threads);
  if (!roofline) fail_running("this machine has no measured ceilings to calibrate against");
  roofline = with_one_bandwidth(*roofline);
  roofline->step_overhead_ms = step_overhead_ms({.cpu = pinned(threads)});
  Calibration calibration{.measured_at = utc_now(),
                          .ceilings_of = machine.measured_at,
                          .threads = threads,
                          .step_overhead_ms = roofline->step_overhead_ms,
                          .network_count = static_cast<int>(networks.size())};
  const auto measured = measured_networks(networks, threads, progress);
  for (const MeasuredNetwork& network : measured) {
    add_samples(network, *roofline, calibration.samples);
  }
  for (const MeasuredNetwork& network : measured) {
    if (network.was_disturbed) calibration.disturbed.push_back(network.name);
    if (!network.is_held_out) continue;
    calibration.held_out.push_back(predicted_from_others(network, *roofline, calibration.samples));
  }
  return calibration;
}

}  // namespace assay
