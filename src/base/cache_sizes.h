// The data caches of the processor as the system reports them: in sysfs, or, where a kernel has no
// sizes there, in the device tree that boards with ARM processors are described by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

struct CacheSize {
  int level = 1;           // 1 is the nearest
  std::int64_t bytes = 0;  // of one such cache; data or unified
  int processors = 1;      // that share one
};

// Of the first processor, nearest first; empty if they are not reported. `root` stands in for "/"
// in tests.
std::vector<CacheSize> cache_sizes(const std::string& root = "");
std::vector<CacheSize> cache_sizes_of_device_tree(const std::string& root = "");

// Of the last cache before memory. Where nothing reports it, what is usual: 32 MiB on x86-64, and
// 1 MiB on ARM, whose servers report theirs but whose small boards may not.
std::int64_t last_cache_bytes();

}  // namespace assay
