#include "machine/pinned_team.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>

#include "assay/timing.h"

namespace assay {

namespace {

// Where the system does not allow it, the thread stays where it is put.
void pin_to(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

}  // namespace

PinnedTeam::PinnedTeam(const std::vector<int>& processors)
    : line_(static_cast<std::ptrdiff_t>(processors.size()) + 1), spans_(processors.size()) {
  for (std::size_t i = 0; i < processors.size(); ++i) {
    threads_.emplace_back([this, i, processor = processors[i]] { serve(i, processor); });
  }
}

PinnedTeam::~PinnedTeam() {
  work_ = nullptr;
  line_.arrive_and_wait();
  for (std::thread& thread : threads_) thread.join();
}

void PinnedTeam::serve(std::size_t thread, int processor) {
  pin_to(processor);
  while (true) {
    line_.arrive_and_wait();
    if (work_ == nullptr) return;
    spans_[thread].begin = steady_clock().nanoseconds();
    (*work_)(thread);
    spans_[thread].end = steady_clock().nanoseconds();
    line_.arrive_and_wait();
  }
}

std::int64_t PinnedTeam::time(const std::function<void(std::size_t thread)>& work) {
  work_ = &work;
  line_.arrive_and_wait();
  line_.arrive_and_wait();
  const auto first = std::ranges::min(spans_, {}, &Span::begin);
  const auto last = std::ranges::max(spans_, {}, &Span::end);
  return std::max<std::int64_t>(1, last.end - first.begin);
}

}  // namespace assay
