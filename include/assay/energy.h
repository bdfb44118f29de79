// Energy of work in joules, from the machine's meter: gross, and net of idle power. A figure that
// is not available is missing and has a reason, never 0 J; each problem is a flag with a sentence.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/energy_meter.h"
#include "assay/progress.h"
#include "assay/timing.h"

namespace assay {

// Lets time pass: replaced in tests.
class Pace : public Clock {
 public:
  virtual void wait(double seconds) = 0;
  // Calls `tick` periodically on its own thread, until the returned object is destroyed.
  virtual std::shared_ptr<void> every(double seconds, std::function<void()> tick) = 0;
};
Pace& real_pace();

// "unread", "missed-readings", "dropped-stretch", "wrap-unseen", "short-window", "no-idle" or
// "below-idle".
struct EnergyFlag {
  std::string name;
  std::string message;
};
struct ChannelEnergy {
  std::string name;
  bool is_counted = true;
  std::optional<double> joules = {};
};
struct EnergyReading {
  std::string source;  // "RAPL: package-0 + package-1"
  double seconds = 0;
  std::size_t runs = 0;                   // made by measure_energy in this window
  std::optional<double> gross_j = {};     // missing unless every counted channel was read at
                                          // both ends
  std::optional<double> idle_watts = {};  // measured just before, with nothing running
  std::optional<double> net_j = {};       // gross - idle power · seconds
  std::vector<ChannelEnergy> channels = {};
  std::vector<EnergyFlag> flags = {};
};

// From its construction to `finish`; reads the meter often enough to see every wrap.
class EnergyWindow {
 public:
  explicit EnergyWindow(EnergyMeter& meter, Pace& pace = real_pace());
  EnergyWindow(const EnergyWindow&) = delete;
  EnergyWindow& operator=(const EnergyWindow&) = delete;
  ~EnergyWindow();
  EnergyReading finish(std::optional<double> idle_watts = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Twenty updates of the meter. The first call observes a counter to find its update interval.
double shortest_window_ms(EnergyMeter& meter, Pace& pace = real_pace());

struct EnergyOptions {
  double min_seconds = 1;   // longer where the meter needs it
  double max_seconds = 30;  // at least one run is made whatever it takes
  double idle_seconds = 1;  // measured before the runs; 0: not measured, and no net energy
};
// Runs until the window is long enough. Throws an Error of kind Cancelled if `progress` cancels,
// of kind Usage if an option is out of range, and whatever `run` throws.
EnergyReading measure_energy(EnergyMeter& meter, const std::function<void()>& run,
                             const EnergyOptions& options = {}, Progress* progress = nullptr,
                             Pace& pace = real_pace());

// Energy of one run: measured, or without a meter, a proxy from a configured power.
struct EnergyEstimate {
  std::optional<double> gross_j_per_run = {};
  std::optional<double> net_j_per_run = {};
  std::optional<double> proxy_j = {};
  std::optional<double> power_watts = {};  // used for the proxy
  std::string note = "";                   // where the figures come from, and each flag
};
EnergyEstimate energy_per_run(const EnergyReading& reading);
double energy_proxy_j(double power_watts, double latency_ms);
EnergyEstimate energy_by_proxy(double power_watts, double latency_ms);

}  // namespace assay
