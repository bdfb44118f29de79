#include "base/memory_block.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "base/fail.h"
#include "base/free_memory.h"
#include "base/round.h"

namespace assay {

namespace {

void* map(std::size_t bytes) {
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return address == MAP_FAILED ? nullptr : address;
}

// A block that begins between huge pages would lose up to two of them. So more is requested, and
// the excess at both ends is released.
void* map_for_huge_pages(std::size_t bytes) {
  auto* reserved = static_cast<std::byte*>(map(bytes + kHugePage));
  if (reserved == nullptr) return nullptr;
  const std::size_t past = reinterpret_cast<std::uintptr_t>(reserved) % kHugePage;
  const std::size_t before = past == 0 ? 0 : kHugePage - past;
  std::byte* begin = reserved + before;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t used = rounded_up(bytes, page);
  if (before > 0) munmap(reserved, before);
  munmap(begin + used, kHugePage - before);
  (void)madvise(begin, bytes, MADV_HUGEPAGE);
  return begin;
}

}  // namespace

MemoryBlock::MemoryBlock(std::size_t bytes, std::string_view purpose) : bytes_(bytes) {
  if (bytes == 0) return;
  check_memory_for(static_cast<std::int64_t>(bytes), [&] { return purpose; });
  void* address = bytes >= kHugePage ? map_for_huge_pages(bytes) : map(bytes);
  if (address == nullptr)
    fail_running("{} needs {} bytes, which the system refused", purpose, bytes);
  data_ = static_cast<std::byte*>(address);
}

MemoryBlock::~MemoryBlock() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace assay
