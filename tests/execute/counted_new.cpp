// Stands in front of the library's operator new and delete, in a file of its own: compilers warn of
// `free` where they see it in place of a `delete`.
#include "execute/counted_new.h"

#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<bool> is_counting = false;
std::atomic<int> counted = 0;

bool is_in_onednn(const void* caller) {
  Dl_info library;
  return dladdr(caller, &library) != 0 && library.dli_fname != nullptr &&
         std::strstr(library.dli_fname, "libdnnl") != nullptr;
}

// Null where there is none.
void* allocated_or_null(std::size_t bytes, std::size_t alignment, const void* caller) {
  if (is_counting && !is_in_onednn(caller)) ++counted;
  void* block = nullptr;
  return posix_memalign(&block, alignment, bytes == 0 ? 1 : bytes) == 0 ? block : nullptr;
}

void* allocated(std::size_t bytes, std::size_t alignment, const void* caller) {
  void* block = allocated_or_null(bytes, alignment, caller);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

}  // namespace

void* operator new(std::size_t bytes) {
  return allocated(bytes, alignof(std::max_align_t), __builtin_return_address(0));
}
void* operator new[](std::size_t bytes) {
  return allocated(bytes, alignof(std::max_align_t), __builtin_return_address(0));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocated(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return allocated(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocated_or_null(bytes, alignof(std::max_align_t), __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocated_or_null(bytes, alignof(std::max_align_t), __builtin_return_address(0));
}
void operator delete(void* block) noexcept {
  std::free(block);
}
void operator delete[](void* block) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t) noexcept {
  std::free(block);
}
void operator delete[](void* block, std::size_t) noexcept {
  std::free(block);
}
void operator delete(void* block, std::align_val_t) noexcept {
  std::free(block);
}
void operator delete[](void* block, std::align_val_t) noexcept {
  std::free(block);
}
void operator delete(void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}
void operator delete[](void* block, std::size_t, std::align_val_t) noexcept {
  std::free(block);
}

namespace assay::test {

int allocations_in(const std::function<void()>& work) {
  counted = 0;
  is_counting = true;
  work();
  is_counting = false;
  return counted;
}

}  // namespace assay::test
