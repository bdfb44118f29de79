// Every thread has one group of hardware events, counted together or not at all so that their
// ratios are valid, and separate software events. Descriptors are read one by one, since the kernel
// cannot read a group at once if new threads inherit its events.
#include "assay/counters.h"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "base/text.h"
#include "machine/counters/perf_system.h"

namespace assay {

using namespace assay::machine;

namespace {

struct EventFacts {
  std::string_view name;
  std::uint32_t type = PERF_TYPE_HARDWARE;
  std::uint64_t config = 0;
};

constexpr std::array<EventFacts, kCounterEvents.size()> kFacts = {{
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
    {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
}};

const EventFacts& facts(CounterEvent event) {
  return kFacts[static_cast<std::size_t>(event)];
}

perf_event_attr attributes(CounterEvent event, bool is_leader) {
  perf_event_attr wanted = {};
  wanted.size = sizeof wanted;
  wanted.type = facts(event).type;
  wanted.config = facts(event).config;
  wanted.disabled = is_leader ? 1 : 0;
  wanted.inherit = 1;
  // A context switch happens in the kernel: excluding the kernel would count 0.
  wanted.exclude_kernel = event == CounterEvent::ContextSwitches ? 0 : 1;
  wanted.exclude_hv = 1;
  wanted.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return wanted;
}

std::vector<std::string> reasons(const std::map<int, std::vector<std::string>>& failures,
                                 std::optional<int> paranoid) {
  std::vector<std::string> lines;
  for (const auto& [error, names] : failures) {
    lines.push_back(fmt::format("{}: {}", join(names, ", "), why_no_counter(error, paranoid)));
  }
  return lines;
}

}  // namespace

struct Counters::State {
  struct OpenEvent {
    CounterEvent event = CounterEvent::Cycles;
    int descriptor = -1;
    bool is_leader = true;
  };

  explicit State(PerfSystem& the_system) : system(the_system) {}

  void open_all(std::span<const CounterEvent> events);
  // 0, or why not.
  int open_for_threads(CounterEvent event, std::vector<int>& threads);
  int open_one(CounterEvent event, int thread);
  void drop(CounterEvent event);

  PerfSystem& system;
  std::vector<OpenEvent> open;
  std::map<int, int> hardware_leaders;  // thread to descriptor
  std::vector<CounterEvent> available;
  std::vector<std::string> why_not;
};

void Counters::State::open_all(std::span<const CounterEvent> events) {
  std::vector<int> threads = system.threads();
  std::map<int, std::vector<std::string>> failures;
  for (const CounterEvent event : events) {
    if (const int error = open_for_threads(event, threads); error != 0) {
      drop(event);
      failures[error].emplace_back(name(event));
    } else {
      available.push_back(event);
    }
  }
  why_not = reasons(failures, system.paranoid());
}

int Counters::State::open_for_threads(CounterEvent event, std::vector<int>& threads) {
  for (auto thread = threads.begin(); thread != threads.end();) {
    const int result = open_one(event, *thread);
    const bool has_ended = result == -ESRCH;
    if (result < 0 && !has_ended) return -result;
    thread = has_ended ? threads.erase(thread) : thread + 1;
  }
  return threads.empty() ? ESRCH : 0;
}

int Counters::State::open_one(CounterEvent event, int thread) {
  const auto leader = hardware_leaders.find(thread);
  const bool joins = is_hardware(event) && leader != hardware_leaders.end();
  bool is_leader = !joins;
  int descriptor = system.open(attributes(event, is_leader), thread, joins ? leader->second : -1);
  if (joins &&
      descriptor == -EINVAL) {  // the group has more events than the processor can count at once
    is_leader = true;
    descriptor = system.open(attributes(event, true), thread, -1);
  }
  if (descriptor < 0) return descriptor;
  if (is_hardware(event) && !joins) hardware_leaders[thread] = descriptor;
  open.push_back({event, descriptor, is_leader});
  return descriptor;
}

// An event counts for every thread or for none.
void Counters::State::drop(CounterEvent event) {
  std::erase_if(open, [&](const OpenEvent& one) {
    if (one.event != event) return false;
    std::erase_if(hardware_leaders,
                  [&](const auto& leader) { return leader.second == one.descriptor; });
    system.close(one.descriptor);
    return true;
  });
}

std::string_view name(CounterEvent event) {
  return facts(event).name;
}

bool is_hardware(CounterEvent event) {
  return facts(event).type == PERF_TYPE_HARDWARE;
}

Counters::Counters(std::span<const CounterEvent> events) : Counters(events, linux_perf()) {}

Counters::Counters(std::span<const CounterEvent> events, PerfSystem& system)
    : state_(std::make_unique<State>(system)) {
  state_->open_all(events);
}

Counters::~Counters() {
  for (const auto& one : state_->open) state_->system.close(one.descriptor);
}

const std::vector<CounterEvent>& Counters::available() const {
  return state_->available;
}

bool Counters::has_hardware() const {
  return std::ranges::any_of(available(), is_hardware);
}

const std::vector<std::string>& Counters::why_not() const {
  return state_->why_not;
}

void Counters::start() {
  for (const auto& one : state_->open) {
    if (one.is_leader) state_->system.enable(one.descriptor, true);
  }
}

void Counters::stop() {
  for (const auto& one : state_->open) {
    if (one.is_leader) state_->system.enable(one.descriptor, false);
  }
}

CounterSnapshot Counters::read() const {
  CounterSnapshot snapshot;
  snapshot.reserve(state_->open.size());
  for (const auto& one : state_->open) {
    const auto words = state_->system.read(one.descriptor);
    snapshot.push_back({.event = one.event, .is_read = words.has_value()});
    if (!words) continue;
    snapshot.back().value = (*words)[0];
    snapshot.back().enabled_ns = (*words)[1];
    snapshot.back().running_ns = (*words)[2];
  }
  return snapshot;
}

}  // namespace assay
