// Turns one channel's readings into joules: differences of a counter, or the integral of power by
// the trapezoid rule. In integers, so that the sum is exact.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "assay/energy_meter.h"

namespace assay::machine {

class EnergyAccumulator {
 public:
  EnergyAccumulator(MeterKind kind, std::optional<std::int64_t> range, double max_watts)
      : kind_(kind), range_(range), max_watts_(max_watts) {}

  void add(std::int64_t nanoseconds, const MeterValue& value);

  // Nothing unless the first and the last reading succeeded.
  std::optional<double> joules() const;
  int readings() const { return readings_; }
  int missed() const { return missed_; }
  const std::string& why_missed() const { return why_missed_; }  // the last time
  // Time that is not counted: a counter went down and its range is not known, or it went up by more
  // than is possible.
  double dropped_seconds() const { return static_cast<double>(dropped_ns_) * 1e-9; }
  // Between two readings a counter could have wrapped unnoticed.
  bool may_have_wrapped_unseen() const { return may_have_wrapped_unseen_; }

 private:
  void add_counted(std::int64_t elapsed_ns, std::int64_t value);

  MeterKind kind_ = MeterKind::Energy;
  std::optional<std::int64_t> range_;
  double max_watts_ = 0;
  int readings_ = 0;
  int missed_ = 0;
  std::string why_missed_;
  bool has_begun_ = false;  // the first reading succeeded
  bool is_missed_now_ = false;
  std::int64_t last_ns_ = 0;
  std::int64_t last_value_ = 0;
  std::int64_t dropped_ns_ = 0;
  bool may_have_wrapped_unseen_ = false;
  std::int64_t counted_ = 0;  // microjoules
  double twice_area_ = 0;     // microwatts times nanoseconds
};

}  // namespace assay::machine
