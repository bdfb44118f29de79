// What the processor counts while something runs: cycles, instructions, cache and branch misses,
// and the kernel's own page faults and switches. Where the kernel does not allow an event, one line
// says why and what to try; its value is missing, never 0.
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

// As the kernel tells it, for one thread and event.
struct RawCount {
  CounterEvent event = CounterEvent::Cycles;
  bool is_read = false;  // otherwise the kernel did not tell
  std::uint64_t value = 0;
  std::uint64_t enabled_ns = 0;
  std::uint64_t running_ns = 0;  // less than enabled where events took turns
};
using CounterSnapshot = std::vector<RawCount>;

struct CounterValues {
  std::array<std::optional<double>, kCounterEvents.size()> values = {};
  // Of the time, the least share that an event was really counted; the rest is scaled up.
  double share_counted = 1;

  std::optional<double> operator[](CounterEvent event) const {
    return values[static_cast<std::size_t>(event)];
  }
  std::optional<double> instructions_per_cycle() const;
};

// Of two readings by the same Counters: what was counted from one to the other, over all threads.
CounterValues between(const CounterSnapshot& before, const CounterSnapshot& after);

namespace machine {
class PerfSystem;  // the kernel's side, replaced in tests
}

// Counts all threads that the process has when this is made, and those that they start later.
class Counters {
 public:
  explicit Counters(std::span<const CounterEvent> events = kCounterEvents);
  Counters(std::span<const CounterEvent> events, machine::PerfSystem& system);
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;
  ~Counters();

  const std::vector<CounterEvent>& available() const;
  bool has_hardware() const;  // any event of the processor's own
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
