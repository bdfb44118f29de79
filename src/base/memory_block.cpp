#include "base/memory_block.h"

#include <sys/mman.h>

#include "base/fail.h"
#include "base/free_memory.h"

namespace assay {

namespace {

// Below this a huge page would waste more than it saves.
constexpr std::size_t kHugePage = std::size_t{2} << 20;

}  // namespace

MemoryBlock::MemoryBlock(std::size_t bytes, std::string_view purpose) : bytes_(bytes) {
  if (bytes == 0) return;
  check_memory_for(static_cast<std::int64_t>(bytes), [&] { return purpose; });
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    fail_running("{} needs {} bytes, which the system refused", purpose, bytes);
  if (bytes >= kHugePage) (void)madvise(address, bytes, MADV_HUGEPAGE);
  data_ = static_cast<std::byte*>(address);
}

MemoryBlock::~MemoryBlock() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

}  // namespace assay
