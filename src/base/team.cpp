#include "base/team.h"

#include <pthread.h>

#include "base/processors.h"

namespace assay {

namespace {

// Longer than what lies between two regions of a small network, and much shorter than the time that
// a scheduler gives to a thread.
constexpr std::chrono::microseconds kSpin{50};
constexpr int kTriesPerLook = 32;  // at the clock

thread_local const Team::Part* part_of_thread = nullptr;

void run_as(const Team::Part& part, Team::Body body, void* data) {
  const Team::Part* const outer = part_of_thread;
  part_of_thread = &part;
  body(data);
  part_of_thread = outer;
}

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Whether `state` ceased to be `old` while it was watched for this long.
bool changes_within(const std::atomic<int>& state, int old, std::chrono::nanoseconds limit) {
  using Clock = std::chrono::steady_clock;
  if (limit.count() == 0) return false;
  const auto end = Clock::now() + limit;
  do {
    for (int i = 0; i < kTriesPerLook; ++i) {
      if (state.load(std::memory_order_acquire) != old) return true;
      pause_briefly();
    }
  } while (Clock::now() < end);
  return false;
}

void wait_while(const std::atomic<int>& state, int old, std::chrono::nanoseconds spin) {
  if (!changes_within(state, old, spin)) state.wait(old, std::memory_order_acquire);
}

// How often this process is a copy of another that had teams.
std::atomic<int>& fork_count() {
  static std::atomic<int> count = 0;
  return count;
}

int forks() {
  static const bool is_counting =
      ::pthread_atfork(nullptr, nullptr, [] { fork_count().fetch_add(1); }) == 0;
  (void)is_counting;
  return fork_count().load(std::memory_order_relaxed);
}

// What a worker has been asked to do.
enum PartState : int { kIdle, kOffered, kTaken };

// Whether nobody had begun the part and it is the caller's now.
bool take(std::atomic<int>& state) {
  int offered = kOffered;
  return state.load(std::memory_order_relaxed) == kOffered &&
         state.compare_exchange_strong(offered, kTaken);
}

void finish(std::atomic<int>& state) {
  state.store(kIdle);
  state.notify_all();
}

}  // namespace

const Team::Part* Team::current() {
  return part_of_thread;
}

Team::~Team() {
  forget_workers_before_fork();
  body_ = nullptr;
  for (auto& worker : workers_) {
    worker->state.store(kOffered);
    worker->state.notify_all();
  }
  for (auto& worker : workers_) worker->thread.join();
}

// A copy of a process has the calling thread alone. What its parent's workers had stays allocated.
void Team::forget_workers_before_fork() {
  if (forks_seen_ == forks()) return;
  forks_seen_ = forks();
  for (auto& worker : workers_) (void)worker.release();
  workers_.clear();
}

void Team::add_workers(int count) {
  while (static_cast<int>(workers_.size()) < count) {
    Worker& worker = *workers_.emplace_back(std::make_unique<Worker>());
    const int number = static_cast<int>(workers_.size());
    worker.thread = std::thread([this, &worker, number] { serve(number, worker); });
  }
}

void Team::run_part(int number) {
  run_as({.number = number, .count = parts_, .team = this, .is_in_parallel = true}, body_, data_);
}

void Team::run_alone(Body body, void* data) {
  run_as({.is_in_parallel = part_of_thread != nullptr && part_of_thread->is_in_parallel}, body,
         data);
}

void Team::help(int first) {
  for (int i = 0; i < parts_ - 1; ++i) {
    const int worker = (first + i) % (parts_ - 1);
    std::atomic<int>& state = workers_[static_cast<std::size_t>(worker)]->state;
    if (!take(state)) continue;
    run_part(worker + 1);
    finish(state);
  }
}

void Team::serve(int number, Worker& worker) {
  for (;;) {
    wait_while(worker.state, kIdle, kSpin);
    if (!take(worker.state)) {
      wait_while(worker.state, kTaken, {});  // by a thread that helped
      continue;
    }
    if (body_ == nullptr) return;
    run_part(number);
    // Until its own part is finished, no other region begins.
    help(number);
    finish(worker.state);
  }
}

void Team::run(int parts, Body body, void* data) {
  forget_workers_before_fork();
  add_workers(parts - 1);
  body_ = body;
  data_ = data;
  parts_ = parts;
  const bool has_processor_each = static_cast<std::size_t>(parts) <= available_processors().size();
  spin_ = has_processor_each ? kSpin : std::chrono::microseconds{0};
  arrived_.store(0, std::memory_order_relaxed);
  for (int i = 0; i < parts - 1; ++i) {
    std::atomic<int>& state = workers_[static_cast<std::size_t>(i)]->state;
    state.store(kOffered);
    state.notify_all();
  }
  run_part(0);
  help(0);
  for (int i = 0; i < parts - 1; ++i) {
    wait_while(workers_[static_cast<std::size_t>(i)]->state, kTaken, spin_);
  }
}

void Team::meet() {
  const int before = meetings_.load();
  if (arrived_.fetch_add(1) + 1 < parts_) return wait_while(meetings_, before, spin_);
  arrived_.store(0);
  meetings_.fetch_add(1);
  meetings_.notify_all();
}

}  // namespace assay
