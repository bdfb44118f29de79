// The system calls that counting needs, so that tests can replace them.
#pragma once

#include <linux/perf_event.h>

#include <optional>
#include <vector>

#include "assay/counters.h"

namespace assay::machine {

class PerfSystem {
 public:
  virtual ~PerfSystem() = default;
  virtual std::vector<int> threads() = 0;  // of this process
  // A descriptor, or an errno as a negative number. `group` is the leader's descriptor, or -1.
  virtual int open(const perf_event_attr& event, int thread, int group) = 0;
  // Value, nanoseconds enabled, nanoseconds running.
  virtual std::optional<std::array<std::uint64_t, 3>> read(int descriptor) = 0;
  virtual void enable(int descriptor, bool on) = 0;  // of a leader: its group
  virtual void close(int descriptor) = 0;
  virtual std::optional<int> paranoid() = 0;  // kernel.perf_event_paranoid
};
PerfSystem& linux_perf();

// One line: why opening failed, and what to try.
std::string why_no_counter(int error, std::optional<int> paranoid);

}  // namespace assay::machine
