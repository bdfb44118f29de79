// A mutex that is free in a copy of the process (fork), where only the calling thread lives on.
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>

namespace assay::python {

class ProcessMutex {
 public:
  void lock() { of_this_process().lock(); }
  void unlock() { mutex_->unlock(); }

 private:
  static constexpr pid_t kChanging = -1;

  // The mutex of the other process may be locked for ever: it is left as it is.
  std::mutex& of_this_process() {
    const pid_t now = ::getpid();
    pid_t known = process_.load();
    while (known != now) {
      if (known != kChanging && process_.compare_exchange_strong(known, kChanging)) {
        static_cast<void>(mutex_.release());
        mutex_ = std::make_unique<std::mutex>();
        process_.store(now);
        break;
      }
      std::this_thread::yield();
      known = process_.load();
    }
    return *mutex_;
  }

  std::atomic<pid_t> process_ = ::getpid();
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
};

}  // namespace assay::python
