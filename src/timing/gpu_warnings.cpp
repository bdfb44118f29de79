#include "timing/gpu_warnings.h"

#include <fmt/core.h>

#include <optional>

#include "base/text.h"

namespace assay::timing {

namespace {

// Shorter limits happen whenever clocks rise.
constexpr double kShortestLimitSeconds = 0.005;

std::optional<double> time_between(std::optional<double> before, std::optional<double> after) {
  if (!before || !after || *after - *before < kShortestLimitSeconds) return {};
  return *after - *before;
}

std::string clock_text(const GpuState& state) {
  if (!state.clock_mhz) return "";
  const std::string top =
      state.top_clock_mhz ? fmt::format(" of {}", *state.top_clock_mhz) : std::string();
  return fmt::format("; it ends at {}{} MHz", *state.clock_mhz, top);
}

TimingWarning heat_limit(double seconds, const GpuState& state) {
  const std::string warmth = state.celsius ? fmt::format(" at {} °C", *state.celsius) : "";
  return {"throttling",
          fmt::format("the GPU lowered its clock for heat for {}{}{}",
                      duration_text(1000 * seconds), warmth, clock_text(state)),
          "let the GPU cool down, improve its cooling, and measure again", true};
}

// Full use of a large GPU may well take all its power: this is how fast it is.
TimingWarning power_limit(double seconds, const GpuState& state) {
  const std::string limit =
      state.most_watts ? fmt::format(" of {:.0f} W", *state.most_watts) : std::string();
  return {"power-limit",
          fmt::format("the GPU lowered its clock to keep its power limit{} for {}{}", limit,
                      duration_text(1000 * seconds), clock_text(state)),
          "compare only with results under the same limit", false};
}

TimingWarning shared_gpu(int processes) {
  return {"shared-gpu",
          fmt::format("{} processes use the GPU, and may have run at the same time", processes),
          "end the others (nvidia-smi lists them), and measure again", true};
}

}  // namespace

std::vector<TimingWarning> gpu_warnings(const MachineTimes& before, const MachineTimes& after) {
  if (!before.gpu || !after.gpu) return {};
  std::vector<TimingWarning> warnings;
  const GpuState& state = *after.gpu;
  if (const auto hot = time_between(before.gpu->heat_limited_seconds, state.heat_limited_seconds))
    warnings.push_back(heat_limit(*hot, state));
  if (const auto weak =
          time_between(before.gpu->power_limited_seconds, state.power_limited_seconds))
    warnings.push_back(power_limit(*weak, state));
  if (state.processes.value_or(0) > 1) warnings.push_back(shared_gpu(*state.processes));
  return warnings;
}

}  // namespace assay::timing
