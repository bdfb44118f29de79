// The GPU that programs run on, and what they own there: memory, streams, events, captured graphs
// and loaded code. Each is freed by its destructor. Every failure is an Error that says what was
// being done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "gpu/libraries.h"

namespace assay::gpu {

struct DeviceFacts {
  std::string name = "";
  std::string bus = "";        // "0000:01:00.0", as NVML knows it
  int compute_capability = 0;  // 90: 9.0
  int multiprocessors = 0;
  int clock_khz = 0;
  std::int64_t cache_bytes = 0;             // L2
  std::int64_t shared_bytes_per_block = 0;  // at most
  std::int64_t memory_bytes = 0;
};

// The first device, whose context is kept until the process ends. Throws an Error if a library is
// missing.
class Device {
 public:
  explicit Device(const Libraries& libraries);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const Libraries& libraries() const { return libraries_; }
  const Driver& driver() const { return libraries_.driver; }
  const DeviceFacts& facts() const { return facts_; }
  // Makes the calling thread use it.
  void use() const;
  std::int64_t free_bytes() const;
  // False after an error that leaves nothing usable, as of a kernel that read outside of memory.
  bool works() const;
  // Throws if the call failed: "copying inputs failed: CUDA_ERROR_ILLEGAL_ADDRESS".
  void check(Status status, std::string_view doing) const;

 private:
  const Libraries& libraries_;
  int number_ = 0;
  Handle context_ = nullptr;
  DeviceFacts facts_;
};

// That of this process.
const Device& device();

// Throws an Error that says how much `what` takes and how much is free.
[[noreturn]] void fail_for_memory(const Device& device, std::int64_t bytes, std::string_view what);

class Memory {
 public:
  Memory() = default;
  // Throws an Error that says how much `what` takes and how much is free. 0 bytes take none.
  Memory(const Device& device, std::int64_t bytes, std::string_view what);
  ~Memory() { release(); }
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept;

  DevicePointer address() const { return address_; }
  std::int64_t bytes() const { return bytes_; }

 private:
  void release();

  const Device* device_ = nullptr;
  DevicePointer address_ = 0;
  std::int64_t bytes_ = 0;
};

// An object of the driver and how it is destroyed.
class Owned {
 public:
  using Destroy = Status (*)(Handle);
  Owned() = default;
  Owned(Handle handle, Destroy destroy) : handle_(handle), destroy_(destroy) {}
  ~Owned() { release(); }
  Owned(Owned&& other) noexcept { *this = std::move(other); }
  Owned& operator=(Owned&& other) noexcept {
    if (this != &other) release();
    handle_ = std::exchange(other.handle_, nullptr);
    destroy_ = other.destroy_;
    return *this;
  }
  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

 private:
  void release() {
    if (handle_ != nullptr) destroy_(handle_);
    handle_ = nullptr;
  }
  Handle handle_ = nullptr;
  Destroy destroy_ = nullptr;
};

Owned new_event(const Device& device);
// Between two events that were recorded, once the later one is reached.
double milliseconds_between(const Device& device, const Owned& first, const Owned& second);

class Stream {
 public:
  explicit Stream(const Device& device);
  Handle get() const { return stream_.get(); }
  const Device& device() const { return device_; }

  void copy_in(DevicePointer to, std::span<const std::byte> from) const;
  void copy_out(std::span<std::byte> to, DevicePointer from) const;
  void copy_within(DevicePointer to, DevicePointer from, std::int64_t bytes) const;
  void fill(DevicePointer to, unsigned char value, std::int64_t bytes) const;
  void record(const Owned& event) const;
  // While capturing: the graph records the event each time it is launched.
  void record_in_graph(const Owned& event) const;
  // Errors of what ran before show here: `doing` says what that was.
  void wait(std::string_view doing) const;

  // What is launched between the two becomes a graph that can be launched at once.
  void begin_capture() const;
  Owned end_capture() const;
  // The graph itself, which cannot be launched.
  Owned end_capture_as_graph() const;
  // Instead of `end_capture`, after an error.
  void give_up_capture() const;
  void launch(const Owned& graph) const;

 private:
  const Device& device_;
  Owned stream_;
};

}  // namespace assay::gpu
