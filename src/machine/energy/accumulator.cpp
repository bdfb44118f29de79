#include "machine/energy/accumulator.h"

namespace assay::machine {

namespace {

constexpr double kSlack = 1e6;  // microseconds by which an update may come late

}  // namespace

void EnergyAccumulator::add(std::int64_t nanoseconds, const MeterValue& value) {
  const bool is_first = readings_++ == 0;
  is_missed_now_ = !value.value;
  if (is_missed_now_) {
    ++missed_;
    why_missed_ = value.why_not;
    return;
  }
  if (is_first) has_begun_ = true;
  const std::int64_t elapsed_ns = nanoseconds - last_ns_;
  if (has_begun_ && !is_first) {
    if (kind_ == MeterKind::Energy) {
      add_counted(elapsed_ns, *value.value);
    } else {
      twice_area_ += (static_cast<double>(last_value_) + static_cast<double>(*value.value)) *
                     static_cast<double>(elapsed_ns);
    }
  }
  last_ns_ = nanoseconds;
  last_value_ = *value.value;
}

void EnergyAccumulator::add_counted(std::int64_t elapsed_ns, std::int64_t value) {
  const double most = max_watts_ * static_cast<double>(elapsed_ns) * 1e-3;  // microjoules
  if (range_ && most >= static_cast<double>(*range_)) may_have_wrapped_unseen_ = true;
  const bool went_down = value < last_value_;
  const std::int64_t taken = value - last_value_ + (went_down && range_ ? *range_ : 0);
  const bool is_plausible = taken >= 0 && static_cast<double>(taken) <= most + kSlack * max_watts_;
  if (is_plausible) {
    counted_ += taken;
  } else {
    dropped_ns_ += elapsed_ns;
  }
}

std::optional<double> EnergyAccumulator::joules() const {
  if (!has_begun_ || is_missed_now_) return {};
  return kind_ == MeterKind::Energy ? static_cast<double>(counted_) / 1e6 : twice_area_ / 2e15;
}

}  // namespace assay::machine
