#include "base/free_memory.h"

#include <fstream>
#include <string>

#include "base/checked.h"
#include "base/fail.h"
#include "base/text.h"

namespace assay {

std::optional<std::int64_t> free_memory_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string key; file >> key;) {
    std::int64_t kibibytes = 0;
    if (!(file >> kibibytes)) break;
    if (key == "MemAvailable:") return saturating_multiply(kibibytes, 1024);
    std::getline(file, key);
  }
  return std::nullopt;
}

void check_memory_for(std::int64_t bytes, std::string_view what) {
  const auto free = free_memory_bytes();
  if (!free || bytes <= *free) return;
  fail_bad_input("{} takes {}, but only {} of memory are free; try a smaller batch or input", what,
                 with_binary_unit(static_cast<double>(bytes)),
                 with_binary_unit(static_cast<double>(*free)));
}

}  // namespace assay
