#include "execute/threads.h"

#include <omp.h>

#include "base/fail.h"
#include "base/processors.h"

namespace assay::execute {

namespace {

// More than this many threads a processor is a slip of the finger.
constexpr int kMostThreadsPerProcessor = 4;

// Calls `work(thread)` on every thread of the team. The barrier keeps one thread from doing
// another's part.
template <typename Work>
void on_each_thread(int threads, const Work& work) {
#pragma omp parallel num_threads(threads)
  {
#pragma omp barrier
    work(static_cast<std::size_t>(omp_get_thread_num()));
  }
}

void pin_team(int threads, const std::vector<int>& processors) {
  on_each_thread(threads,
                 [&](std::size_t thread) { stay_on({processors[thread % processors.size()]}); });
}

void unpin_team(int threads, const std::vector<int>& processors) {
  on_each_thread(threads, [&](std::size_t) { stay_on(processors); });
}

}  // namespace

int thread_count(int threads) {
  const int processors = static_cast<int>(available_processors().size());
  if (threads == 0) return processors;
  if (threads < 0) fail_usage("{} threads: expected at least 1", threads);
  if (threads > kMostThreadsPerProcessor * processors) {
    fail_usage("{} threads are too many for {} processor{}: at most {} for each, {} here", threads,
               processors, processors == 1 ? "" : "s", kMostThreadsPerProcessor,
               kMostThreadsPerProcessor * processors);
  }
  return threads;
}

TeamScope::TeamScope(int threads, bool pin)
    : previous_threads_(omp_get_max_threads()), threads_(threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
  const auto& processors = available_processors();
  if (!pin || processors.size() < static_cast<std::size_t>(threads)) return;
  unpinned_ = processors;
  pin_team(threads, processors);
}

TeamScope::~TeamScope() {
  if (!unpinned_.empty()) unpin_team(threads_, unpinned_);
  omp_set_num_threads(previous_threads_);
}

}  // namespace assay::execute
