#include <fmt/core.h>

#include <cmath>

#include "assay/energy.h"
#include "base/fail.h"

namespace assay {

EnergyEstimate energy_per_run(const EnergyReading& reading) {
  if (reading.runs == 0) fail_usage("energy per run of '{}': there was no run", reading.source);
  const auto runs = static_cast<double>(reading.runs);
  EnergyEstimate estimate;
  if (reading.gross_j) estimate.gross_j_per_run = *reading.gross_j / runs;
  if (reading.net_j) estimate.net_j_per_run = *reading.net_j / runs;
  estimate.note = fmt::format("measured by {} over {:.3g} s and {} run{}", reading.source,
                              reading.seconds, reading.runs, reading.runs == 1 ? "" : "s");
  for (const EnergyFlag& flag : reading.flags) estimate.note += "; " + flag.message;
  return estimate;
}

double energy_proxy_j(double power_watts, double latency_ms) {
  if (!(power_watts > 0) || !std::isfinite(power_watts)) {
    fail_usage(
        "energy proxy: a power of {} W is not possible: give the watts the machine draws under "
        "load",
        power_watts);
  }
  if (!(latency_ms >= 0))
    fail_usage("energy proxy: a latency of {} ms is not possible", latency_ms);
  return power_watts * latency_ms * 1e-3;
}

EnergyEstimate energy_by_proxy(double power_watts, double latency_ms) {
  return {
      .proxy_j = energy_proxy_j(power_watts, latency_ms),
      .power_watts = power_watts,
      .note = fmt::format("a proxy, not measured: latency × {:g} W as configured", power_watts)};
}

}  // namespace assay
