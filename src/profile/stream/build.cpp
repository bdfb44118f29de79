// The steps of an estimate: prepare the model, measure the machine's ceilings, cost the operators.
#include <algorithm>

#include "assay/zoo.h"
#include "base/fail.h"
#include "base/processors.h"
#include "profile/compiled_model.h"
#include "profile/own_ceilings.h"
#include "profile/step_overhead.h"
#include "profile/stream/estimate.h"

namespace assay {

using namespace assay::profile;

namespace {

void check_size(const char* what, std::int64_t number, const char* parameter) {
  const auto entry = std::ranges::find(zoo_entries(), "stream_mlp", &ZooEntry::name);
  const auto range = std::ranges::find(entry->parameters, parameter, &ZooParameter::name);
  if (number >= std::max<std::int64_t>(1, range->smallest) && number <= range->largest) return;
  fail_usage("{} is {}, expected 1 to {}", what, number, range->largest);
}

std::string spec_of(std::int64_t features, std::int64_t batch,
                    const std::optional<std::int64_t>& width) {
  check_size("feature_count", features, "features");
  check_size("batch_size", batch, "batch");
  if (width) check_size("width", *width, "width");
  const std::string wider = width ? fmt::format(",width={}", *width) : "";
  return fmt::format("stream_mlp:features={},batch={}{}", features, batch, wider);
}

Roofline measured_roofline(const HardwareProfileOptions& options, Progress* progress) {
  ProgramOptions program = options.run.program;
  int& threads = program.cpu.threads;
  if (threads == 0) threads = static_cast<int>(available_processors().size());
  const double overhead_ms = step_overhead_ms(program);  // refuses threads that cannot be had
  const Machine machine = options.machine ? *options.machine : quickly_measured(threads, progress);
  auto roofline = roofline_of(machine, threads);
  if (!roofline) {
    fail_running(
        "this machine's ceilings hold no fp32 peak or no bandwidth of memory: a stream cannot be "
        "estimated; call `measure_machine` again");
  }
  const bool is_calibrated = options.calibration && options.calibration->threads == threads;
  roofline->step_overhead_ms = is_calibrated ? options.calibration->step_overhead_ms : overhead_ms;
  return *roofline;
}

HardwareProfile built(Graph model, std::string name, double interval_ms,
                      const HardwareProfileOptions& options, const ClassifyOptions& operators,
                      Progress* progress) {
  check_stream_interval(interval_ms);
  Prepared prepared = prepare_to_run(std::move(model), std::move(name), options.run);
  const Roofline roofline = measured_roofline(options, progress);
  const Calibration* calibration = options.calibration ? &*options.calibration : nullptr;
  return estimate_stream(std::move(prepared), interval_ms, roofline, operators, calibration);
}

}  // namespace

void check_stream_interval(double interval_ms) {
  const bool is_sound = interval_ms >= kShortestIntervalMs && interval_ms <= kLongestIntervalMs;
  if (is_sound) return;  // NaN is not
  fail_usage("a stream interval of {} ms: expected {:g} to {:g} ms", interval_ms,
             kShortestIntervalMs, kLongestIntervalMs);
}

Graph streaming_model(std::int64_t feature_count, std::int64_t batch_size,
                      std::optional<std::int64_t> width) {
  return zoo_model(spec_of(feature_count, batch_size, width));
}

HardwareProfile build_hardware_profile_table(std::int64_t feature_count, std::int64_t batch_size,
                                             double stream_interval_ms,
                                             const HardwareProfileOptions& options,
                                             Progress* progress) {
  const std::string spec = spec_of(feature_count, batch_size, options.width);
  return built(zoo_model(spec), "zoo:" + spec, stream_interval_ms, options, streaming_operators(),
               progress);
}

HardwareProfile build_hardware_profile_table(Graph model, std::string name,
                                             double stream_interval_ms,
                                             const HardwareProfileOptions& options,
                                             Progress* progress) {
  return built(std::move(model), std::move(name), stream_interval_ms, options, {}, progress);
}

}  // namespace assay
