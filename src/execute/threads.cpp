#include "execute/threads.h"

#include <omp.h>
#include <sched.h>

#include "base/fail.h"

namespace assay {

namespace {

// More than this many threads a processor is a slip of the finger.
constexpr int kMostThreadsPerProcessor = 4;

void allow(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(static_cast<std::size_t>(processor), &set);
  // Not being allowed to pin changes speed, never results.
  (void)sched_setaffinity(0, sizeof(set), &set);
}

void pin_team(int threads, const std::vector<int>& processors) {
#pragma omp parallel num_threads(threads)
  allow({processors[static_cast<std::size_t>(omp_get_thread_num()) % processors.size()]});
}

void unpin_team(int threads, const std::vector<int>& processors) {
#pragma omp parallel num_threads(threads)
  allow(processors);
}

}  // namespace

namespace {

std::vector<int> allowed_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> processors;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(static_cast<std::size_t>(i), &set)) processors.push_back(i);
    }
  }
  if (processors.empty()) processors.push_back(0);
  return processors;
}

}  // namespace

// Asked once: a pinned thread would only see its own.
std::vector<int> available_processors() {
  static const std::vector<int> processors = allowed_processors();
  return processors;
}

int thread_count(int threads) {
  const int processors = static_cast<int>(available_processors().size());
  if (threads == 0) return processors;
  if (threads < 0 || threads > kMostThreadsPerProcessor * processors) {
    fail_usage(
        "{} threads cannot be used: this process may run on {} processors, so ask for 1 to {}",
        threads, processors, kMostThreadsPerProcessor * processors);
  }
  return threads;
}

TeamScope::TeamScope(int threads, bool pin)
    : previous_threads_(omp_get_max_threads()), threads_(threads) {
  omp_set_dynamic(0);
  omp_set_num_threads(threads);
  auto processors = available_processors();
  if (!pin || processors.size() < static_cast<std::size_t>(threads)) return;
  unpinned_ = processors;
  pin_team(threads, processors);
}

TeamScope::~TeamScope() {
  if (!unpinned_.empty()) unpin_team(threads_, unpinned_);
  omp_set_num_threads(previous_threads_);
}

}  // namespace assay
