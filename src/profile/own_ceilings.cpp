#include "profile/own_ceilings.h"

#include <map>
#include <mutex>
#include <optional>

#include "assay/engine.h"
#include "profile/step_overhead.h"

namespace assay::profile {

Ceilings measured_again(const Topology& topology, int threads, Progress* progress) {
  const CeilingOptions options{.quick = true, .thread_counts = {threads}, .precision = "fp32"};
  return measure_ceilings(topology, options, progress);
}

Machine quickly_measured(int threads, Progress* progress) {
  static std::mutex one_at_a_time;
  static std::map<int, Machine> known;
  const std::scoped_lock lock(one_at_a_time);
  const auto found = known.find(threads);
  if (found != known.end()) return found->second;
  Machine machine{.topology = read_topology()};
  machine.ceilings = measured_again(machine.topology, threads, progress);
  return known.emplace(threads, std::move(machine)).first->second;
}

namespace {

Gpu quickly_measured_gpu(Gpu gpu, Progress* progress) {
  static std::mutex one_at_a_time;
  static std::optional<Gpu> known;
  const std::scoped_lock lock(one_at_a_time);
  if (known) return *known;
  gpu.ceilings = measure_gpu_ceilings({.quick = true}, progress);
  known = std::move(gpu);
  return *known;
}

}  // namespace

bool runs_on_gpu(const ProgramOptions& program) {
  return find_engine(program.engine).device != "cpu";
}

Machine machine_for(const ProgramOptions& program, const std::optional<Machine>& provided,
                    Progress* progress) {
  if (!runs_on_gpu(program))
    return provided ? *provided : quickly_measured(program.cpu.threads, progress);
  Machine machine = provided.value_or(Machine{});
  const auto found = machine.gpu ? std::nullopt : find_gpu();
  if (found) machine.gpu = quickly_measured_gpu(*found, progress);
  return machine;
}

void measure_again_for(const ProgramOptions& program, Machine& machine, Progress* progress) {
  if (runs_on_gpu(program)) {
    const Ceilings again = measure_gpu_ceilings({.quick = true}, progress);
    machine.gpu->ceilings = better_of(std::move(machine.gpu->ceilings), again);
    return;
  }
  machine.ceilings = better_of(std::move(machine.ceilings),
                               measured_again(machine.topology, program.cpu.threads, progress));
}

std::optional<Roofline> roofline_for(const ProgramOptions& program, const Machine& machine) {
  std::optional<Roofline> roofline;
  if (!runs_on_gpu(program)) {
    roofline = roofline_of(machine, program.cpu.threads);
  } else if (machine.gpu) {
    roofline = roofline_of(*machine.gpu);
  }
  if (roofline) roofline->step_overhead_ms = step_overhead_ms(program);
  return roofline;
}

}  // namespace assay::profile
