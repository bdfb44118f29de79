#include "execute/memory_block.h"

#include <sys/mman.h>

#include <fstream>
#include <string>

#include "base/fail.h"

namespace assay {

namespace {

// Below this a huge page would waste more than it saves.
constexpr std::size_t kHugePage = std::size_t{2} << 20;

double mebibytes(std::int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

}  // namespace

std::optional<std::int64_t> available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string word;
  while (file >> word) {
    std::int64_t kibibytes = 0;
    if (word == "MemAvailable:" && file >> kibibytes) return kibibytes * 1024;
  }
  return std::nullopt;
}

void require_memory(std::int64_t bytes, std::string_view purpose) {
  const auto available = available_memory();
  if (!available || bytes <= *available) return;
  fail_bad_input(
      "{} needs {:.0f} MiB, {:.0f} MiB are free: try a smaller batch or input, or "
      "--optimize-for memory",
      purpose, mebibytes(bytes), mebibytes(*available));
}

MemoryBlock::MemoryBlock(std::size_t bytes, std::string_view purpose) : bytes_(bytes) {
  if (bytes == 0) return;
  require_memory(static_cast<std::int64_t>(bytes), purpose);
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
