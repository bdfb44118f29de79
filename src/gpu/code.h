// Kernels of our own: source text, compiled for the device that is here and kept in the cache
// folder under a hash of everything that the code depends on.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gpu/device.h"

namespace assay::gpu {

// A loaded module. Functions live as long as it does.
class Code {
 public:
  // Compiles the text, or takes what an earlier run compiled. The text is code of ours: an Error
  // shows the compiler's messages.
  Code(const Device& device, const std::string& source);
  // Loads what `compiled` or `compiled_or_cached` gave.
  static Code loaded(const Device& device, const std::string& machine_code);
  Handle function(const std::string& name) const;

 private:
  Code(const Device& device, Owned module) : device_(&device), module_(std::move(module)) {}

  const Device* device_ = nullptr;
  Owned module_;
};

// Machine code for the device, by NVRTC. Several threads may compile at the same time.
std::string compiled(const Device& device, const std::string& source);
// The same, kept in the cache folder where there is one.
std::string compiled_or_cached(const Device& device, const std::string& source);

struct Launch {
  unsigned blocks[3] = {1, 1, 1};
  unsigned threads = 1;
  unsigned shared_bytes = 0;
};

// More than any kernel of ours takes.
constexpr std::size_t kMaxArguments = 24;

// Arguments of kernels are addresses and numbers of 64 bits; anything else is part of the source.
void launch(const Stream& stream, Handle function, const Launch& shape,
            std::span<const std::uint64_t> arguments);
// To be called once for a kernel that takes more than 48 KB of shared memory.
void allow_shared_bytes(const Device& device, Handle function, unsigned bytes);

}  // namespace assay::gpu
