#include <chrono>
#include <thread>

#include "assay/stream_timing.h"

namespace assay {

namespace {

// A sleep ends tens of microseconds late on most systems: sleep that much shorter, then poll the
// clock. Polling for longer would keep a core busy that the work could use.
constexpr std::int64_t kWatched = 200'000;

class PacedSteadyClock : public PacedClock {
 public:
  std::int64_t nanoseconds() override { return steady_clock().nanoseconds(); }

  void wait_until(std::int64_t moment) override {
    const std::int64_t left = moment - nanoseconds();
    if (left > kWatched) std::this_thread::sleep_for(std::chrono::nanoseconds(left - kWatched));
    while (nanoseconds() < moment) {
    }
  }
};

}  // namespace

PacedClock& paced_clock() {
  static PacedSteadyClock clock;
  return clock;
}

}  // namespace assay
