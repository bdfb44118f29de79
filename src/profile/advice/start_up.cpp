// Time spent at every start, before the first useful run.
#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "profile/advice/rules.h"

namespace assay::profile {

namespace {

bool chooses_algorithms(const ProgramOptions& program) {
  return find_engine(program.engine).tunes_algorithms &&
         program.optimize_for == OptimizeFor::Latency && program.tuning_file.empty() &&
         program.tuning_cache.empty();
}

// What a tuning file cannot save: reading the weights and storing them in the engine's layout.
double packing_ms(const Profile& profile) {
  if (!profile.roofline) return 0;
  const StepWork work{.read_bytes = static_cast<double>(profile.stored_bytes),
                      .written_bytes = static_cast<double>(profile.memory.program.weight_bytes)};
  return least_time(work, *profile.roofline).limit_ms();
}

std::string rest_text(const Profile& profile) {
  if (!profile.roofline) return "storing weights";
  return fmt::format("storing {} of weights, at least {}",
                     with_binary_unit(static_cast<double>(profile.memory.program.weight_bytes)),
                     duration_text(packing_ms(profile)));
}

}  // namespace

std::optional<Advice> start_up(const RunFacts& facts) {
  constexpr double kManyRuns = 20;
  constexpr double kNoticedMilliseconds = 50;
  const Profile& profile = facts.profile();
  const StartUp& took = profile.start_up;
  const double start_ms = took.compile_ms + took.first_run_ms;
  const double runs = start_ms / profile.run_ms();
  const bool is_long = runs >= kManyRuns && start_ms >= kNoticedMilliseconds;
  if (!is_long || !chooses_algorithms(profile.program)) return {};
  Advice advice{.once = true};
  advice.reason = fmt::format("compiling takes {} and the first run {}, as long as {} runs",
                              duration_text(took.compile_ms), duration_text(took.first_run_ms),
                              with_thousands(static_cast<std::int64_t>(runs)));
  advice.action = fmt::format(
      "`tuning_file` FILE stores the algorithms that compiling chose by timing them: saves up to "
      "all of "
      "compiling but {}",
      rest_text(profile));
  advice.saving_ms = std::max(0.0, took.compile_ms - packing_ms(profile));
  return advice;
}

}  // namespace assay::profile
