// Joules that work takes, from the machine's meter: what is drawn while it runs, and that less what
// idling draws. A figure that cannot be had is missing and has a reason, never 0 J; each problem is
// a flag with a sentence.
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
  // Calls `tick` every so often on a thread of its own, until what is returned is destroyed.
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
  std::size_t runs = 0;                   // that measure_energy made meanwhile
  std::optional<double> gross_j = {};     // missing unless every counted channel was read at
                                          // both ends
  std::optional<double> idle_watts = {};  // taken just before, with nothing running
  std::optional<double> net_j = {};       // gross less what idling takes in as many seconds
  std::vector<ChannelEnergy> channels = {};
  std::vector<EnergyFlag> flags = {};
};

// From its construction to `finish`; reads by itself often enough to see every wrap.
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

// Twenty updates of the meter. The first call watches a counter change to find how long one is.
double shortest_window_ms(EnergyMeter& meter, Pace& pace = real_pace());

struct EnergyOptions {
  double min_seconds = 1;   // longer where the meter needs it
  double max_seconds = 30;  // at least one run is made whatever it takes
  double idle_seconds = 1;  // watched before the runs; 0: not at all, and no net
};
// Runs until the window is long enough. Throws an Error of kind Cancelled if `progress` cancels,
// of kind Usage if an option is out of range, and whatever `run` throws.
EnergyReading measure_energy(EnergyMeter& meter, const std::function<void()>& run,
                             const EnergyOptions& options = {}, Progress* progress = nullptr,
                             Pace& pace = real_pace());

// What one run costs: measured, or where no meter is, a proxy from a power somebody configured.
struct EnergyEstimate {
  std::optional<double> gross_j_per_run = {};
  std::optional<double> net_j_per_run = {};
  std::optional<double> proxy_j = {};
  std::optional<double> power_watts = {};  // that the proxy rests on
  std::string note = "";                   // where the figures come from, and each flag
};
EnergyEstimate energy_per_run(const EnergyReading& reading);
double energy_proxy_j(double power_watts, double latency_ms);
EnergyEstimate energy_by_proxy(double power_watts, double latency_ms);

}  // namespace assay
