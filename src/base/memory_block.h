// A large block of memory from the system: zeroed, page-aligned, on huge pages where available.
// Asking for more than is free throws an Error, instead of the process being killed later.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

namespace assay {

// Below this a huge page would waste more than it saves.
constexpr std::size_t kHugePage = std::size_t{2} << 20;

class MemoryBlock {
 public:
  MemoryBlock() = default;
  MemoryBlock(std::size_t bytes, std::string_view purpose);
  MemoryBlock(MemoryBlock&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryBlock& operator=(MemoryBlock&& other) noexcept {
    MemoryBlock taken(std::move(other));  // frees the old block at once
    std::swap(data_, taken.data_);
    std::swap(bytes_, taken.bytes_);
    return *this;
  }
  ~MemoryBlock();

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

}  // namespace assay
