// Performance counters: cycles, instructions, cache and branch misses, and the kernel's page faults
// and context switches. Where the kernel does not allow an event, one line says why and what to
// try; its value is missing, never 0.
//
// At the boundaries of steps: open, `start`, then `read` before and after each step, and `between`.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

enum class CounterEvent {
  Cycles,
  Instructions,
  CacheReferences,  // to the last level
  CacheMisses,
  BranchMisses,
  TaskClock,  // nanoseconds that threads ran; this and those below are the kernel's own
  PageFaults,
  ContextSwitches,
};
inline constexpr std::array kCounterEvents = {
    CounterEvent::Cycles,      CounterEvent::Instructions,   CounterEvent::CacheReferences,
    CounterEvent::CacheMisses, CounterEvent::BranchMisses,   CounterEvent::TaskClock,
    CounterEvent::PageFaults,  CounterEvent::ContextSwitches};
std::string_view name(CounterEvent event);  // "cycles", …, "context-switches"
bool is_hardware(CounterEvent event);

// As reported by the kernel, for one thread and event.
struct RawCount {
  CounterEvent event = CounterEvent::Cycles;
  bool is_read = false;  // false: the kernel did not report it
  std::uint64_t value = 0;
  std::uint64_t enabled_ns = 0;
  std::uint64_t running_ns = 0;  // less than enabled where events were multiplexed
};
using CounterSnapshot = std::vector<RawCount>;

struct CounterValues {
  std::array<std::optional<double>, kCounterEvents.size()> values = {};
  // The smallest share of the time that an event was counted; values are scaled up accordingly.
  double share_counted = 1;

  std::optional<double> operator[](CounterEvent event) const {
    return values[static_cast<std::size_t>(event)];
  }
  std::optional<double> instructions_per_cycle() const;
};

// The difference of two readings by the same Counters, over all threads.
CounterValues between(const CounterSnapshot& before, const CounterSnapshot& after);

namespace machine {
class PerfSystem;  // the kernel's side, replaced in tests
}

// Counts all threads of the process at construction, and those that they start later.
class Counters {
 public:
  explicit Counters(std::span<const CounterEvent> events = kCounterEvents);
  Counters(std::span<const CounterEvent> events, machine::PerfSystem& system);
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;
  ~Counters();

  const std::vector<CounterEvent>& available() const;
  bool has_hardware() const;  // any hardware event
  // One line for each reason that keeps events from being counted; empty if all are.
  const std::vector<std::string>& why_not() const;

  void start();
  void stop();
  CounterSnapshot read() const;  // while counting or after

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay
