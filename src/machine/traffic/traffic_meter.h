// Measures the bandwidth of one level of memory with one kind of access, on a team of threads with
// a buffer each.
#pragma once

#include <string>
#include <vector>

#include "assay/machine.h"
#include "base/memory_block.h"
#include "machine/pinned_team.h"
#include "machine/traffic/traffic_kernel.h"
#include "machine/tries.h"

namespace assay::machine {

struct TrafficLevel {
  std::string name;       // "L2", "DRAM"
  std::size_t bytes = 0;  // that each thread works on
  bool is_memory = false;
};

class TrafficMeter {
 public:
  // Buffers of `most_bytes` a thread; they are not touched yet.
  TrafficMeter(PinnedTeam& team, std::size_t most_bytes);

  // How many bytes a thread can write once in `pass_seconds`, up to `most_bytes`. Touches as much
  // of the buffers as `touch_seconds` allow: the answer is never more than was touched.
  std::size_t bytes_within(double pass_seconds, double touch_seconds);

  Bandwidth measure(const TrafficKernel& kernel, const TrafficLevel& level,
                    const TryLimits& limits);

 private:
  struct Written {
    std::size_t bytes = 0;  // of each thread
    double nanoseconds = 0;
  };
  Written written_within(double seconds, std::size_t most_bytes, int byte);

  PinnedTeam& team_;
  std::size_t most_bytes_ = 0;
  std::vector<MemoryBlock> blocks_;
};

}  // namespace assay::machine
