// Events of a Chrome trace, as ONNX Runtime and torch.profiler write them: durations on tracks,
// nested by time. The JSON is untrusted.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "assay/import_profile.h"
#include "report/json_parts.h"

namespace assay::store {

struct TimedEvent {
  static constexpr std::size_t kNone = RuntimeKernel::kNoParent;

  std::string name;
  std::string category;
  std::string track;  // thread and process
  double start_us = 0;
  double duration_us = 0;
  const report::Json* args = nullptr;  // null if it has none
  std::size_t parent = kNone;          // the event that it runs in
  double children_us = 0;

  double end_us() const { return start_us + duration_us; }
  double own_us() const { return std::max(0.0, duration_us - children_us); }
};

// All complete events ("ph": "X"). Throws an Error for a time that is no number or negative.
std::vector<TimedEvent> complete_events(const report::Json& list, const std::string& file);

// Events of the same time are nested in the order in which the runtime writes them.
enum class WrittenFirst { Inner, Outer };
// Sorts by start, outer events before those inside them, and finds parents.
void nest(std::vector<TimedEvent>& events, WrittenFirst written_first);

// A part of an event's arguments as text; empty if there is none.
std::string argument(const TimedEvent& event, const char* key);

// One kernel per name and place, with its time in each of the runs.
class KernelTable {
 public:
  explicit KernelTable(std::size_t runs) : runs_(runs) {}

  // The position of the kernel with this key; `make` makes it the first time.
  template <typename Make>
  std::size_t find_or_add(const std::string& key, Make make) {
    const auto [place, is_new] = places_.try_emplace(key, kernels_.size());
    if (is_new) {
      kernels_.push_back(make());
      kernels_.back().run_ms.assign(runs_, 0.0);
    }
    return place->second;
  }
  void add_time(std::size_t kernel, std::size_t run, double milliseconds) {
    kernels_[kernel].run_ms[run] += milliseconds;
  }
  RuntimeKernel& at(std::size_t kernel) { return kernels_[kernel]; }
  std::vector<RuntimeKernel> take() { return std::move(kernels_); }

 private:
  std::size_t runs_ = 0;
  std::map<std::string, std::size_t> places_;
  std::vector<RuntimeKernel> kernels_;
};

// The first of several runs is a warm-up: it allocates. A single one is all there is.
void drop_warm_up(RuntimeTrace& trace);

}  // namespace assay::store
