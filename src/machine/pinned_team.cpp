#include "machine/pinned_team.h"

#include <algorithm>

#include "assay/error.h"
#include "assay/timing.h"
#include "base/processors.h"

namespace assay::machine {

PinnedTeam::PinnedTeam(const std::vector<int>& processors, Progress* progress)
    : progress_(progress),
      line_(static_cast<std::ptrdiff_t>(processors.size()) + 1),
      spans_(processors.size()) {
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
  stay_on({processor});
  for (std::size_t round = 1;; ++round) {
    line_.arrive_and_wait();
    if (work_ == nullptr) return;
    line_up(round);
    spans_[thread].begin = steady_clock().nanoseconds();
    (*work_)(thread);
    spans_[thread].end = steady_clock().nanoseconds();
    line_.arrive_and_wait();
  }
}

// Sleeping processors take time to wake up: the threads wait here until all are running.
void PinnedTeam::line_up(std::size_t round) {
  lined_up_.fetch_add(1);
  while (lined_up_.load() < round * spans_.size()) continue;
}

std::int64_t PinnedTeam::time(const std::function<void(std::size_t thread)>& work) {
  if (progress_ != nullptr && progress_->cancelled())
    throw Error(ErrorKind::Cancelled, "cancelled while measuring ceilings");
  work_ = &work;
  line_.arrive_and_wait();
  line_.arrive_and_wait();
  const auto first = std::ranges::min(spans_, {}, &Span::begin);
  const auto last = std::ranges::max(spans_, {}, &Span::end);
  return std::max<std::int64_t>(1, last.end - first.begin);
}

}  // namespace assay::machine
