// Tells ThreadSanitizer when a team forks, meets at a barrier and joins: libgomp synchronizes with
// bare futexes, which it cannot see. The two functions here stand in front of libgomp's own, for
// our parallel regions and oneDNN's alike, in builds under ThreadSanitizer only.
#ifdef __SANITIZE_THREAD__

#include <dlfcn.h>
#include <sanitizer/tsan_interface.h>

#include <cstddef>
#include <cstdint>

namespace {

// A parallel region, with an address for each way in which its threads wait for each other. With
// one for all, a thread that starts late would seem to come after one that has already finished.
struct Region {
  void (*body)(void*) = nullptr;
  void* data = nullptr;
  std::int64_t fork = 0;
  std::int64_t join = 0;
  std::int64_t barriers[2] = {};  // in turn: the next one may fill before all have left this one
};

thread_local Region* current_region = nullptr;
thread_local std::size_t barriers_passed = 0;

void run_in_team(void* data) {
  auto* region = static_cast<Region*>(data);
  __tsan_acquire(&region->fork);
  Region* const outer_region = current_region;
  const std::size_t outer_barriers_passed = barriers_passed;
  current_region = region;
  barriers_passed = 0;
  region->body(region->data);
  current_region = outer_region;
  barriers_passed = outer_barriers_passed;
  __tsan_release(&region->join);
}

template <typename Function>
Function* of_libgomp(Function* /*like*/, const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

void GOMP_parallel(void (*body)(void*), void* data, unsigned threads, unsigned flags) {
  static auto* const parallel = of_libgomp(&GOMP_parallel, "GOMP_parallel");
  Region region{.body = body, .data = data};
  __tsan_release(&region.fork);
  parallel(run_in_team, &region, threads, flags);
  __tsan_acquire(&region.join);
}

void GOMP_barrier() {
  static auto* const barrier = of_libgomp(&GOMP_barrier, "GOMP_barrier");
  if (current_region == nullptr) return barrier();
  std::int64_t* const meeting = &current_region->barriers[barriers_passed++ % 2];
  __tsan_release(meeting);
  barrier();
  __tsan_acquire(meeting);
}

}  // extern "C"

#endif
