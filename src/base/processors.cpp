#include "base/processors.h"

#include <sched.h>

#include <cstddef>

namespace assay {

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

const std::vector<int>& available_processors() {
  static const std::vector<int> processors = allowed_processors();
  return processors;
}

void stay_on(const std::vector<int>& processors) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int processor : processors) CPU_SET(static_cast<std::size_t>(processor), &set);
  (void)sched_setaffinity(0, sizeof(set), &set);
}

}  // namespace assay
