// The one team of threads a program runs on: OpenMP's, which oneDNN shares.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace assay::execute {

// How many threads to use for a wish of `threads`, 0 meaning as many as there are processors.
// Throws an Error for a negative or absurd number.
int thread_count(int threads);

// Sets the calling thread's team size and, if asked, pins each thread of the team to a processor of
// its own; both are put back when the scope ends.
class TeamScope {
 public:
  TeamScope(int threads, bool pin);
  ~TeamScope();
  TeamScope(const TeamScope&) = delete;
  TeamScope& operator=(const TeamScope&) = delete;

 private:
  int previous_threads_ = 0;
  int threads_ = 0;
  std::vector<int> unpinned_;  // processors to allow again; empty: nothing was pinned
};

// Calls `work(first, last)` for parts of 0..count on the team's threads; on the calling thread
// alone where there is one thread or little to do.
template <typename Work>
void in_parallel(int threads, std::int64_t count, const Work& work) {
  if (threads <= 1 || count <= 1) {
    if (count > 0) work(std::int64_t{0}, count);
    return;
  }
#pragma omp parallel for schedule(static, 1) num_threads(threads)
  for (int thread = 0; thread < threads; ++thread) {
    const std::int64_t first = count * thread / threads;
    const std::int64_t last = count * (thread + 1) / threads;
    if (first < last) work(first, last);
  }
}

// Calls `work(table, first, last)` for parts of the `columns` of `tables` tables, none of which
// goes beyond its table, likewise.
template <typename Work>
void for_each_stretch(int threads, std::int64_t tables, std::int64_t columns, const Work& work) {
  in_parallel(threads, tables * columns, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t table = begin / columns;
      const std::int64_t until = std::min(end, (table + 1) * columns);
      work(table, begin - table * columns, until - table * columns);
      begin = until;
    }
  });
}

// Calls `work(i)` for each of 0..count, likewise.
template <typename Work>
void for_each_in_parallel(int threads, std::size_t count, const Work& work) {
  in_parallel(
      threads, static_cast<std::int64_t>(count), [&](std::int64_t first, std::int64_t last) {
        for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i)
          work(i);
      });
}

}  // namespace assay::execute
