#include "execution/limits.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace assay::fuzz {

namespace {

constexpr int kMostProcessorSeconds = 10;
constexpr unsigned kMostSeconds = 120;  // other programs may hold the processor
constexpr std::size_t kLargestAllocation = std::size_t{2} << 30;

std::atomic<bool> sizes_from_inputs = false;

void say(const char* text) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text));
}

void end_as_hung(int) {
  say("took too long\n");
  _exit(kHung);
}

#ifndef __SANITIZE_ADDRESS__
void limit_memory() {
  constexpr rlim_t kMostMemory = rlim_t{6} << 30;
  const rlimit limit{kMostMemory, kMostMemory};
  setrlimit(RLIMIT_AS, &limit);
}
#else
void limit_memory() {}  // the sanitizer maps far more than it uses, and has a limit of its own
#endif

}  // namespace

void start_watch() {
  const itimerval processor{{0, 0}, {kMostProcessorSeconds, 0}};
  setitimer(ITIMER_PROF, &processor, nullptr);
  alarm(kMostSeconds);
}

void install_limits() {
  signal(SIGPROF, end_as_hung);
  signal(SIGALRM, end_as_hung);
  limit_memory();
}

void expect_sizes_from_inputs(bool sizes_depend_on_inputs) {
  sizes_from_inputs = sizes_depend_on_inputs;
}

// Ends the process before a number in a file is taken for an amount of memory.
void check_allocation(std::size_t bytes) {
  if (bytes <= kLargestAllocation) return;
  if (sizes_from_inputs) throw std::bad_alloc();
  say("asked for more than 2 GiB at once\n");
  _exit(kTooMuchMemory);
}

}  // namespace assay::fuzz

// Under the sanitizer too: its own limit cannot fail with an exception.
void* operator new(std::size_t bytes) {
  assay::fuzz::check_allocation(bytes);
  void* block = std::malloc(bytes == 0 ? 1 : bytes);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return std::malloc(bytes == 0 ? 1 : bytes);
}

void operator delete(void* block) noexcept {
  std::free(block);
}

void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}
