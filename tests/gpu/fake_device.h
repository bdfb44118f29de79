// The fake GPU of tests/gpu/fake, with which every test of this folder runs.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/device.h"

namespace assay {

inline constexpr const char* kCudaEngine = "cuda";

// Opened anew, as a machine that has these environment variables.
gpu::Libraries fake_libraries();
const gpu::Device& fake_device();
// What has been allocated there and not been freed.
std::int64_t fake_live_bytes();
// Streams, events, graphs and modules that have not been destroyed.
std::int64_t fake_live_objects();

// An environment variable of the fake while it lives.
class FakeSetting {
 public:
  FakeSetting(const char* variable, const std::string& value);
  ~FakeSetting();
  FakeSetting(const FakeSetting&) = delete;
  FakeSetting& operator=(const FakeSetting&) = delete;

 private:
  const char* variable_;
};

}  // namespace assay
