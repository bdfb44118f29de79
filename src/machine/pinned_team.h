// A team of threads, each pinned to one processor, that do the same work at the same time.
#pragma once

#include <atomic>
#include <barrier>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "assay/progress.h"

namespace assay::machine {

class PinnedTeam {
 public:
  explicit PinnedTeam(const std::vector<int>& processors, Progress* progress = nullptr);
  PinnedTeam(const PinnedTeam&) = delete;
  PinnedTeam& operator=(const PinnedTeam&) = delete;
  ~PinnedTeam();

  std::size_t size() const { return threads_.size(); }
  // Returns the nanoseconds from the start of the first thread to the end of the last. `work` must
  // not throw. Throws an Error of kind Cancelled, and does nothing, once `progress` is cancelled.
  std::int64_t time(const std::function<void(std::size_t thread)>& work);

 private:
  struct Span {
    std::int64_t begin = 0;
    std::int64_t end = 0;
  };
  void serve(std::size_t thread, int processor);
  void line_up(std::size_t round);

  Progress* progress_ = nullptr;
  std::barrier<> line_;
  std::atomic<std::size_t> lined_up_ = 0;                   // counts every thread of every round
  const std::function<void(std::size_t)>* work_ = nullptr;  // null: exit
  std::vector<Span> spans_;
  std::vector<std::thread> threads_;
};

}  // namespace assay::machine
