#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "assay/energy.h"

namespace assay {

namespace {

class Ticking {
 public:
  Ticking(std::chrono::duration<double> period, std::function<void()> tick)
      : thread_([this, period, tick = std::move(tick)](const std::stop_token& stop) {
          std::unique_lock lock(mutex_);
          const auto never = [] { return false; };
          while (!changed_.wait_for(lock, stop, period, never) && !stop.stop_requested()) tick();
        }) {}

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::jthread thread_;  // last: it is stopped before the other members are destroyed
};

class RealPace : public Pace {
 public:
  std::int64_t nanoseconds() override { return steady_clock().nanoseconds(); }
  void wait(double seconds) override {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }
  std::shared_ptr<void> every(double seconds, std::function<void()> tick) override {
    return std::make_shared<Ticking>(std::chrono::duration<double>(seconds), std::move(tick));
  }
};

}  // namespace

Pace& real_pace() {
  static RealPace pace;
  return pace;
}

}  // namespace assay
