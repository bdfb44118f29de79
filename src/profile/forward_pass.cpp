// The measuring half of Profiler.
#include <algorithm>

#include "assay/profile.h"
#include "assay/profiler.h"
#include "base/fail.h"
#include "base/megabytes.h"
#include "profile/assemble.h"
#include "profile/compiled_model.h"
#include "profile/observe.h"
#include "profile/resident_memory.h"

namespace assay {

using namespace assay::profile;

namespace {

MemoryFigures figures_of(const ProfileMemory& memory) {
  MemoryFigures figures;
  figures.parameter_memory_mb = in_mb(memory.program.planned_weight_bytes);
  figures.activation_memory_mb = in_mb(memory.program.planned_arena_bytes);
  figures.peak_memory_mb = in_mb(memory.peak_bytes);
  figures.memory_efficiency = memory.memory_efficiency;
  if (memory.peak_rss_growth_bytes) {
    figures.peak_rss_growth_mb = in_mb(*memory.peak_rss_growth_bytes);
  }
  return figures;
}

ForwardPass forward_pass_of(const Profile& profile) {
  ForwardPass pass{figures_of(profile.memory)};
  pass.parameters = profile.totals.parameters;
  pass.flops = profile.totals.flops;
  pass.latency_ms = profile.latency.latency.median_ms;
  pass.gflops_per_second = profile.gflops_per_second;
  const double seconds = std::max(1e-12, pass.latency_ms / 1000.0);
  pass.memory_bandwidth_mbs = pass.peak_memory_mb / seconds;
  pass.counted_traffic_mbs = in_mb(profile.traffic_bytes) / seconds;
  pass.executed_flops = profile.executed_flops;
  pass.computational_efficiency = profile.computational_efficiency;
  if (profile.bottleneck) {
    pass.is_memory_bound = *profile.bottleneck == Bound::Memory;
    pass.is_compute_bound = *profile.bottleneck == Bound::Compute;
    pass.bottleneck = std::string(name(*profile.bottleneck));
  }
  return pass;
}

}  // namespace

MemoryFigures Profiler::measure_memory(const Graph& model,
                                       const std::vector<std::int64_t>& input_shape) const {
  if (model.inputs().empty()) fail_bad_input("the model '{}' has no input", model.name);
  Bindings bindings;
  bindings.input_shapes[model.value(model.inputs()[0]).name] = Shape(input_shape);
  Inferred inferred = infer_shapes(bind_inputs(model, bindings).graph);
  const ResidentGrowth growth;
  const auto program = compile(std::move(inferred), options_, progress_);
  program->set_inputs(random_inputs(program->inputs()));
  program->run();
  ProfileMemory memory = facts_of(*program).memory;
  memory.peak_rss_growth_bytes = growth.bytes();
  return figures_of(memory);
}

double Profiler::measure_latency(const Graph& model, const ModelInputs& input, std::size_t warmup,
                                 std::size_t iterations) const {
  if (iterations == 0) fail_usage("iterations is 0: nothing would be measured");
  const auto program = compiled_for(model, input, options_, progress_);
  const TimingOptions timing{.fixed_warmup = warmup, .fixed_samples = iterations};
  return measure({.work = runs_of(*program)}, timing, progress_).latency.median_ms;
}

ForwardPass Profiler::profile_forward_pass(const Graph& model, const ModelInputs& input) const {
  ProfileOptions options{.run = options_for(model, input, options_)};
  options.timing.fixed_warmup = 5;
  options.timing.min_samples = 20;
  options.timing.max_seconds = 2;
  return forward_pass_of(profile_model(model, model.name, options, progress_));
}

ForwardPass profile_forward_pass(const Graph& model, const ModelInputs& input,
                                 const ProgramOptions& options, Progress* progress) {
  return Profiler(options, progress).profile_forward_pass(model, input);
}

}  // namespace assay
