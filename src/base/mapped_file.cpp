#include "base/mapped_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "base/fail.h"
#include "base/round.h"
#include "base/system_error.h"

namespace assay {

namespace {

// The ranges whose SIGBUS we handle. Plain atomics, because a signal handler reads them.
struct GuardedRange {
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;
  std::atomic<bool> damaged = false;
};

constexpr int kGuardedRanges = 256;
std::array<GuardedRange, kGuardedRanges> guarded_ranges;
std::mutex guard_mutex;
struct sigaction previous_action;

GuardedRange* find_range(std::uintptr_t address) {
  for (auto& range : guarded_ranges) {
    if (address >= range.begin.load() && address < range.end.load()) return &range;
  }
  return nullptr;
}

// Maps a page of zeros where the file used to be, so that the faulting read can continue.
void replace_lost_page(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  GuardedRange* range = find_range(address);
  if (range == nullptr) {
    if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
      previous_action.sa_sigaction(signal, info, context);
      return;
    }
    ::sigaction(SIGBUS, &previous_action, nullptr);  // The instruction faults again, unguarded.
    return;
  }
  range->damaged = true;
  const auto page_size = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  // NOLINTNEXTLINE(performance-no-int-to-ptr): rounding an address needs a number
  void* page = reinterpret_cast<void*>(address & ~(page_size - 1));
  (void)::mmap(page, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

void install_handler_once() {
  static std::once_flag installed;
  std::call_once(installed, [] {
    struct sigaction action {};
    action.sa_sigaction = replace_lost_page;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, &previous_action);
  });
}

int guard(std::span<const std::byte> bytes) {
  install_handler_once();
  const std::lock_guard lock(guard_mutex);
  for (int slot = 0; slot < kGuardedRanges; ++slot) {
    auto& range = guarded_ranges[static_cast<std::size_t>(slot)];
    if (range.end.load() != 0) continue;
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    range.damaged = false;
    range.begin = begin;
    range.end = begin + bytes.size();
    return slot;
  }
  return -1;
}

void release_guard(int slot) {
  if (slot < 0) return;
  const std::lock_guard lock(guard_mutex);
  auto& range = guarded_ranges[static_cast<std::size_t>(slot)];
  range.end = 0;
  range.begin = 0;
}

struct Descriptor {
  int number = -1;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
};

std::size_t regular_file_size(int descriptor, const std::string& name) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0)
    fail_bad_input("{}: cannot be examined: {}", name, last_system_error());
  if (S_ISDIR(status.st_mode)) fail_bad_input("{}: is a directory, expected a file", name);
  if (!S_ISREG(status.st_mode)) fail_bad_input("{}: is not a regular file", name);
  return static_cast<std::size_t>(status.st_size);
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a named pipe must not wait for a writer before it is refused.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    fail_bad_input("{}: cannot be opened: {}", path.string(), last_system_error());
  return adopt(descriptor, path.string());
}

std::shared_ptr<const MappedFile> MappedFile::adopt(int descriptor, std::string described_as) {
  const Descriptor file{descriptor};
  const std::size_t size = regular_file_size(file.number, described_as);
  std::span<const std::byte> bytes;
  if (size > 0) {
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number, 0);
    if (address == MAP_FAILED)
      fail_bad_input("{}: cannot be mapped: {}", described_as, last_system_error());
    bytes = {static_cast<const std::byte*>(address), size};
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(bytes, std::move(described_as)));
}

MappedFile::MappedFile(std::span<const std::byte> bytes, std::string name)
    : bytes_(bytes), name_(std::move(name)) {
  if (!bytes_.empty()) guard_slot_ = guard(bytes_);
}

MappedFile::~MappedFile() {
  release_guard(guard_slot_);
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::release(std::size_t offset, std::size_t size) const {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t first = rounded_up(offset, page);
  const std::size_t last = (offset + size) / page * page;
  if (first >= last || last > bytes_.size()) return;
  // Only a hint: if the system ignores it, memory stays in use and nothing else changes.
  (void)madvise(const_cast<std::byte*>(bytes_.data()) + first, last - first, MADV_DONTNEED);
}

void MappedFile::check_intact() const {
  if (guard_slot_ < 0) return;
  if (guarded_ranges[static_cast<std::size_t>(guard_slot_)].damaged.load()) {
    fail_bad_input("{}: the file was truncated while it was being read", name_);
  }
}

}  // namespace assay
