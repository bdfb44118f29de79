#include <algorithm>

#include "assay/counters.h"
#include "base/fail.h"

namespace assay {

namespace {

struct Difference {
  double value = 0;
  double enabled_ns = 0;
  double running_ns = 0;
};

Difference difference(const RawCount& before, const RawCount& after) {
  return {static_cast<double>(after.value - before.value),
          static_cast<double>(after.enabled_ns - before.enabled_ns),
          static_cast<double>(after.running_ns - before.running_ns)};
}

// Scaled up to the whole time if the event was counted for part of it; nothing if it never was.
std::optional<double> scaled(const Difference& raw) {
  if (raw.enabled_ns <= 0) return raw.value;  // the thread slept
  if (raw.running_ns <= 0) return {};
  return raw.value * (raw.enabled_ns / raw.running_ns);
}

void add(std::optional<double>& sum, std::optional<double> more) {
  sum = sum && more ? std::optional(*sum + *more) : std::nullopt;
}

}  // namespace

CounterValues between(const CounterSnapshot& before, const CounterSnapshot& after) {
  if (before.size() != after.size()) {
    fail_usage("counters: {} counts before and {} after do not belong to the same Counters",
               before.size(), after.size());
  }
  CounterValues found;
  for (const RawCount& one : after) found.values[static_cast<std::size_t>(one.event)] = 0.0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    auto& sum = found.values[static_cast<std::size_t>(after[i].event)];
    const bool is_told = before[i].is_read && after[i].is_read;
    const Difference raw = is_told ? difference(before[i], after[i]) : Difference{};
    add(sum, is_told ? scaled(raw) : std::nullopt);
    if (raw.enabled_ns > 0) {
      found.share_counted = std::min(found.share_counted, raw.running_ns / raw.enabled_ns);
    }
  }
  return found;
}

std::optional<double> CounterValues::instructions_per_cycle() const {
  const auto cycles = (*this)[CounterEvent::Cycles];
  const auto instructions = (*this)[CounterEvent::Instructions];
  if (!cycles || !instructions || !(*cycles > 0)) return {};
  return *instructions / *cycles;
}

}  // namespace assay
