#include "optimize/variant_cost.h"

#include "assay/memory_budget.h"
#include "base/fail.h"
#include "base/megabytes.h"
#include "profile/compiled_model.h"
#include "profile/observe.h"

namespace assay::optimize {

namespace {

LatencySummary timed(Inferred model, const RunOptions& run, const TimingOptions& timing,
                     Progress* progress) {
  const auto program = compile(std::move(model), run.program, progress);
  program->set_inputs(profile::inputs_for(*program, run));
  const Measurement measured =
      assay::measure({.work = profile::runs_of(*program)}, timing, progress);
  if (measured.cancelled) throw Error(ErrorKind::Cancelled, "stopped while a version was timed");
  return measured.latency;
}

std::string fit_precision(VariantPrecision precision) {
  const bool is_known = precision == VariantPrecision::Float16 ||
                        precision == VariantPrecision::BFloat16 ||
                        precision == VariantPrecision::Int8;
  return is_known ? std::string(name(precision)) : "fp32";
}

}  // namespace

VariantCost cost_of(const Graph& version, const OptimizeOptions& options, Progress* progress) {
  RunOptions run{.bindings = options.bindings, .seed = options.seed, .program = options.program};
  profile::Prepared prepared = profile::prepare_to_run(version, version.name, run);
  VariantCost cost;
  cost.memory_mb = model_memory_mb(version);
  cost.runtime_memory_mb = cost.memory_mb + in_mb(prepared.plan.arena_bytes);
  cost.parameters = prepared.cost.totals.parameters;
  cost.macs = prepared.cost.totals.macs;
  cost.latency = timed(std::move(prepared.inferred), run, options.timing, progress);
  return cost;
}

DeviceFit fit_on(const TargetDevice& target, const Graph& version, const Graph& float_version,
                 VariantPrecision precision, const Bindings& bindings) {
  FitOptions options{.precision = fit_precision(precision)};
  options.count.bindings = bindings;
  const Graph& judged = options.precision == "fp32" ? version : float_version;
  FitReport report = fit_model(judged, judged.name, {target.device}, target.calibration, options);
  DeviceFit fit = std::move(report.devices.front());
  if (!fit.estimate_ms) {
    fail_bad_input("device '{}': its latency cannot be predicted: {}", target.device.id,
                   fit.reason);
  }
  return fit;
}

}  // namespace assay::optimize
