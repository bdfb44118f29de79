#include "base/heap.h"

#include <malloc.h>

namespace assay {

void return_freed_memory() {
  ::mallopt(M_MMAP_THRESHOLD, 256 << 10);
}

void keep_freed_memory() {
  constexpr int kLargestPooled = 32 << 20;  // the most that glibc allows
  constexpr int kKept = 1 << 30;
  ::mallopt(M_MMAP_THRESHOLD, kLargestPooled);
  ::mallopt(M_TRIM_THRESHOLD, kKept);
}

}  // namespace assay
