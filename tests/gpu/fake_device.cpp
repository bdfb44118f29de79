#include "gpu/fake_device.h"

#include <dlfcn.h>

#include <array>
#include <cstdlib>

namespace assay {

namespace {

// Before anything asks which engines there are. Whoever has a real GPU may say so. What the fake
// compiles is a file of the build folder: a cache elsewhere would outlive it.
bool use_fake() {
  setenv("XDG_CACHE_HOME", FAKE_CUDA_FOLDER "/cache", 1);
  setenv("ASSAY_CUDA_LIBRARIES", FAKE_CUDA_FOLDER, 0);
  return true;
}
const bool kFakeIsUsed = use_fake();

std::int64_t counted(const char* symbol) {
  void* library = dlopen(FAKE_CUDA_FOLDER "/libcuda.so.1", RTLD_NOW);
  const auto count = reinterpret_cast<std::size_t (*)()>(dlsym(library, symbol));
  return static_cast<std::int64_t>(count());
}

}  // namespace

gpu::Libraries fake_libraries() {
  return gpu::open_libraries(std::array<std::filesystem::path, 1>{FAKE_CUDA_FOLDER});
}

const gpu::Device& fake_device() {
  (void)kFakeIsUsed;
  return gpu::device();
}

std::int64_t fake_live_bytes() {
  return counted("fake_live_bytes");
}

std::int64_t fake_live_objects() {
  return counted("fake_live_objects");
}

FakeSetting::FakeSetting(const char* variable, const std::string& value) : variable_(variable) {
  setenv(variable, value.c_str(), 1);
}

FakeSetting::~FakeSetting() {
  unsetenv(variable_);
}

}  // namespace assay
