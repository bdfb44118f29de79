#include "gpu/device.h"

#include <algorithm>
#include <array>

#include "base/fail.h"
#include "base/megabytes.h"

namespace assay::gpu {

namespace {

constexpr Status kOutOfMemory = 2;

// Numbers of CUdevice_attribute.
constexpr int kClock = 13;
constexpr int kMultiprocessors = 16;
constexpr int kCacheBytes = 38;
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;
constexpr int kSharedBytesPerBlock = 97;

constexpr unsigned kNonBlocking = 1;    // a stream that does not wait for the default one
constexpr int kCaptureThreadLocal = 1;  // other threads may go on as they like
// Of an event: a node of the captured graph, rather than an order between its nodes.
constexpr unsigned kRecordInGraph = 1;

std::string error_name(const Driver& driver, Status status) {
  const char* name = nullptr;
  driver.error_name(status, &name);
  return name == nullptr ? fmt::format("error {}", status) : name;
}

DeviceFacts facts_of(const Device& device, int number) {
  const Driver& driver = device.driver();
  const auto attribute = [&](int which) {
    int value = 0;
    device.check(driver.device_attribute(&value, which, number), "asking about the GPU");
    return value;
  };
  DeviceFacts facts;
  std::array<char, 128> text = {};
  device.check(driver.device_name(text.data(), static_cast<int>(text.size()), number),
               "asking for the GPU's name");
  facts.name = text.data();
  if (driver.device_bus(text.data(), static_cast<int>(text.size()), number) == 0)
    facts.bus = text.data();
  facts.compute_capability = attribute(kCapabilityMajor) * 10 + attribute(kCapabilityMinor);
  facts.multiprocessors = attribute(kMultiprocessors);
  facts.clock_khz = attribute(kClock);
  facts.cache_bytes = attribute(kCacheBytes);
  facts.shared_bytes_per_block = attribute(kSharedBytesPerBlock);
  return facts;
}

}  // namespace

Device::Device(const Libraries& libraries) : libraries_(libraries) {
  if (!libraries.why_not.empty()) fail_running("{}", libraries.why_not);
  check(driver().device(&number_, 0), "finding the GPU");
  check(driver().retain_context(&context_, number_), "starting the GPU");
  use();
  facts_ = facts_of(*this, number_);
  std::size_t free = 0;
  std::size_t all = 0;
  check(driver().memory_info(&free, &all), "asking for free memory");
  facts_.memory_bytes = static_cast<std::int64_t>(all);
}

Device::~Device() {
  driver().release_context(number_);
}

void Device::use() const {
  check(driver().use_context(context_), "using the GPU");
}

std::int64_t Device::free_bytes() const {
  std::size_t free = 0;
  std::size_t all = 0;
  check(driver().memory_info(&free, &all), "asking for free memory");
  return static_cast<std::int64_t>(free);
}

bool Device::works() const {
  std::size_t free = 0;
  std::size_t all = 0;
  return driver().memory_info(&free, &all) == 0;
}

void Device::check(Status status, std::string_view doing) const {
  if (status == kOutOfMemory)
    fail_bad_input("{} failed: the GPU is out of memory; try a smaller batch or input", doing);
  if (status != 0) fail_running("{} failed: {}", doing, error_name(driver(), status));
}

const Device& device() {
  // Never destroyed: the driver may be gone before static objects are.
  static const Device* const kOnly = new Device(libraries());
  return *kOnly;
}

void fail_for_memory(const Device& device, std::int64_t bytes, std::string_view what) {
  fail_bad_input(
      "{} take {:.1f} MB on the GPU, {:.1f} of {:.1f} MB are free; try a smaller batch or input",
      what, in_mb(bytes), in_mb(device.free_bytes()), in_mb(device.facts().memory_bytes));
}

Memory::Memory(const Device& device, std::int64_t bytes, std::string_view what)
    : device_(&device), bytes_(bytes) {
  if (bytes == 0) return;
  const Status status = device.driver().allocate(&address_, static_cast<std::size_t>(bytes));
  if (status == kOutOfMemory) fail_for_memory(device, bytes, what);
  device.check(status, fmt::format("allocating {}", what));
}

Memory& Memory::operator=(Memory&& other) noexcept {
  if (this != &other) release();
  device_ = other.device_;
  address_ = std::exchange(other.address_, 0);
  bytes_ = std::exchange(other.bytes_, 0);
  return *this;
}

void Memory::release() {
  if (address_ != 0) device_->driver().free(address_);
  address_ = 0;
}

Owned new_event(const Device& device) {
  Handle event = nullptr;
  device.check(device.driver().create_event(&event, 0), "creating an event");
  return {event, device.driver().destroy_event};
}

double milliseconds_between(const Device& device, const Owned& first, const Owned& second) {
  device.check(device.driver().wait_for_event(second.get()), "running the model");
  float milliseconds = 0;
  device.check(device.driver().elapsed(&milliseconds, first.get(), second.get()),
               "reading the GPU's clock");
  return std::max(0.0, static_cast<double>(milliseconds));
}

Stream::Stream(const Device& device) : device_(device) {
  Handle stream = nullptr;
  device.check(device.driver().create_stream(&stream, kNonBlocking), "creating a stream");
  stream_ = {stream, device.driver().destroy_stream};
}

void Stream::copy_in(DevicePointer to, std::span<const std::byte> from) const {
  if (from.empty()) return;
  device_.check(device_.driver().copy_in(to, from.data(), from.size(), get()),
                "copying to the GPU");
}

void Stream::copy_out(std::span<std::byte> to, DevicePointer from) const {
  if (to.empty()) return;
  device_.check(device_.driver().copy_out(to.data(), from, to.size(), get()),
                "copying from the GPU");
}

void Stream::copy_within(DevicePointer to, DevicePointer from, std::int64_t bytes) const {
  if (bytes == 0) return;
  device_.check(device_.driver().copy_within(to, from, static_cast<std::size_t>(bytes), get()),
                "copying on the GPU");
}

void Stream::fill(DevicePointer to, unsigned char value, std::int64_t bytes) const {
  if (bytes == 0) return;
  device_.check(device_.driver().fill(to, value, static_cast<std::size_t>(bytes), get()),
                "filling memory of the GPU");
}

void Stream::record(const Owned& event) const {
  device_.check(device_.driver().record(event.get(), get(), 0), "recording an event");
}

void Stream::record_in_graph(const Owned& event) const {
  device_.check(device_.driver().record(event.get(), get(), kRecordInGraph), "recording an event");
}

void Stream::wait(std::string_view doing) const {
  device_.check(device_.driver().wait_for_stream(get()), doing);
}

void Stream::begin_capture() const {
  device_.check(device_.driver().begin_capture(get(), kCaptureThreadLocal), "capturing steps");
}

Owned Stream::end_capture_as_graph() const {
  Handle graph = nullptr;
  device_.check(device_.driver().end_capture(get(), &graph), "capturing steps");
  return {graph, device_.driver().destroy_graph};
}

Owned Stream::end_capture() const {
  const Driver& driver = device_.driver();
  const Owned graph = end_capture_as_graph();
  Handle instance = nullptr;
  device_.check(driver.instantiate(&instance, graph.get(), 0), "making a graph of steps");
  return {instance, driver.destroy_instance};
}

void Stream::give_up_capture() const {
  Handle graph = nullptr;
  if (device_.driver().end_capture(get(), &graph) == 0 && graph != nullptr)
    device_.driver().destroy_graph(graph);
}

void Stream::launch(const Owned& graph) const {
  device_.check(device_.driver().launch_graph(graph.get(), get()), "launching a graph of steps");
}

}  // namespace assay::gpu
