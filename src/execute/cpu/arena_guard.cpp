#include "execute/cpu/arena_guard.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

namespace assay::cpu {

#ifdef __SANITIZE_ADDRESS__

namespace {

class ArenaGuard {
 public:
  ArenaGuard(std::span<std::byte> arena, std::span<const std::span<std::byte>> own)
      : arena_(arena) {
    ASAN_POISON_MEMORY_REGION(arena_.data(), arena_.size());
    for (const auto bytes : own) ASAN_UNPOISON_MEMORY_REGION(bytes.data(), bytes.size());
  }
  ~ArenaGuard() { ASAN_UNPOISON_MEMORY_REGION(arena_.data(), arena_.size()); }
  ArenaGuard(const ArenaGuard&) = delete;
  ArenaGuard& operator=(const ArenaGuard&) = delete;

 private:
  std::span<std::byte> arena_;
};

}  // namespace

Runner guarded(Runner run, std::span<std::byte> arena, std::vector<std::span<std::byte>> own) {
  return [run = std::move(run), arena, own = std::move(own)] {
    const ArenaGuard guard(arena, own);
    run();
  };
}

#else

// NOLINTNEXTLINE(performance-unnecessary-value-param): as above, where they are kept
Runner guarded(Runner run, std::span<std::byte>, std::vector<std::span<std::byte>>) {
  return run;
}

#endif

}  // namespace assay::cpu
