// Threads that run the parts of a parallel region together, made for machines that are busy with
// other work.
//
// A thread that waits spins for a bounded time and then sleeps, so that it never keeps others from
// a processor for long. A thread that has finished its part runs the parts that nobody has begun: a
// thread whose processor is busy delays a region only by the part it has already begun.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace assay {

class Team {
 public:
  using Body = void (*)(void*);

  // A part of a region, as the thread that runs it sees it.
  struct Part {
    int number = 0;
    int count = 1;
    Team* team = nullptr;         // nullptr: it runs alone
    bool is_in_parallel = false;  // with others, or within a part that is
  };

  Team() = default;
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Calls `body(data)` once for each of `parts` parts and returns when all have returned. Parts run
  // at the same time if they meet at a barrier; otherwise a thread may run several.
  void run(int parts, Body body, void* data);

  // Calls `body(data)` on the calling thread as the only part of a region, which may lie within
  // another.
  static void run_alone(Body body, void* data);

  // The part that the calling thread runs; nullptr outside of regions.
  static const Part* current();
  // Waits until all parts of the region have come here.
  void meet();

 private:
  struct alignas(64) Worker {
    std::atomic<int> state = 0;  // of its part: idle, offered, taken
    std::thread thread = {};
  };

  void add_workers(int count);
  void forget_workers_before_fork();
  void serve(int number, Worker& worker);
  void run_part(int number);
  // Runs the parts that nobody has begun, beginning with that of worker `first`.
  void help(int first);

  std::vector<std::unique_ptr<Worker>> workers_;  // by number of their part, less one
  Body body_ = nullptr;                           // of the region; nullptr: workers end
  void* data_ = nullptr;
  int parts_ = 1;
  int forks_seen_ = 0;
  std::chrono::nanoseconds spin_ = {};
  alignas(64) std::atomic<int> arrived_ = 0;
  alignas(64) std::atomic<int> meetings_ = 0;
};

}  // namespace assay
