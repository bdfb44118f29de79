#include "execution/limits.h"

#include <execinfo.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <new>

namespace assay::fuzz {

namespace {

constexpr int kMostProcessorSeconds = 10;
// Threads that wait for each other for ever take no processor time. Seconds are counted one by one,
// so that those in which the whole process is stopped do not count; on a shared machine other
// programs may still hold the processor for long.
constexpr int kMostSeconds = 120;
constexpr std::size_t kLargestAllocation = std::size_t{2} << 30;

std::atomic<bool> sizes_from_inputs = false;
std::atomic<int> seconds = 0;  // that the process was running, of the current mutant

void say(const char* text) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text));
}

void end_as_hung(int) {
  say("took too long\n");
  _exit(kHung);
}

void count_second(int) {
  if (++seconds >= kMostSeconds) end_as_hung(SIGALRM);
}

#ifndef __SANITIZE_ADDRESS__
// Says where, for whoever looks into the finding: addr2line knows the lines.
void print_stack(int number) {
  void* frames[64];
  backtrace_symbols_fd(frames, backtrace(frames, 64), STDERR_FILENO);
  signal(number, SIG_DFL);
  raise(number);
}

void report_signals() {
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) signal(number, print_stack);
}

void limit_memory() {
  constexpr rlim_t kMostMemory = rlim_t{6} << 30;
  const rlimit limit{kMostMemory, kMostMemory};
  setrlimit(RLIMIT_AS, &limit);
}
#else
void report_signals() {}  // the sanitizer does
void limit_memory() {}    // the sanitizer maps far more than it uses, and has a limit of its own
#endif

}  // namespace

void start_watch() {
  const itimerval processor{{0, 0}, {kMostProcessorSeconds, 0}};
  setitimer(ITIMER_PROF, &processor, nullptr);
  seconds = 0;
  const itimerval every_second{{1, 0}, {1, 0}};
  setitimer(ITIMER_REAL, &every_second, nullptr);
}

void install_limits() {
  signal(SIGPROF, end_as_hung);
  signal(SIGALRM, count_second);
  report_signals();
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
