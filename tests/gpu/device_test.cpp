#include "gpu/device.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "gpu/code.h"
#include "gpu/fake_device.h"
#include "support/error_message.h"
#include "support/scratch_folder.h"

namespace assay {
namespace {

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(GpuLibraries, AreOpenedFromTheFoldersThatAreNamed) {
  const gpu::Libraries found = fake_libraries();
  EXPECT_EQ(found.why_not, "");
  EXPECT_EQ(found.driver_version, 13000);
  EXPECT_TRUE(says(found.versions(), "CUDA 13.0")) << found.versions();
}

TEST(GpuLibraries, AMachineWithoutADriverSaysSo) {
  const gpu::Libraries found = gpu::open_libraries({});
  if (found.driver.init != nullptr) GTEST_SKIP() << "this machine has a driver";
  EXPECT_EQ(found.why_not, "there is no NVIDIA driver: libcuda.so.1 cannot be opened");
}

TEST(GpuLibraries, ADriverThatFindsNoDeviceSaysSo) {
  const FakeSetting none("FAKE_CUDA_DEVICES", "0");
  EXPECT_EQ(fake_libraries().why_not, "the NVIDIA driver does not start: CUDA_ERROR_NO_DEVICE");
}

TEST(GpuLibraries, AnOldDriverIsToldFromANewOne) {
  const FakeSetting old("FAKE_CUDA_VERSION", "11040");
  EXPECT_EQ(fake_libraries().why_not,
            "the NVIDIA driver is too old: it supports CUDA 11.4, CUDA 12.0 is needed");
}

TEST(GpuLibraries, CodeOfANewerCudaThanTheDriversIsNotMade) {
  const FakeSetting older("FAKE_CUDA_VERSION", "12040");
  const std::string why_not = fake_libraries().why_not;
  if (why_not.empty()) GTEST_SKIP() << "this machine has libnvrtc.so.12";
  EXPECT_TRUE(says(why_not, "there is no libnvrtc.so.12")) << why_not;
  EXPECT_TRUE(says(why_not, "ASSAY_CUDA_LIBRARIES")) << why_not;
}

TEST(GpuLibraries, WithoutTheLibrariesOfProductsAndConvolutionsItRuns) {
  const ScratchFolder folder;
  for (const char* name : {"libcuda.so.1", "libnvrtc.so.13"}) {
    std::filesystem::create_symlink(std::filesystem::path(FAKE_CUDA_FOLDER) / name,
                                    folder.path() / name);
  }
  const gpu::Libraries found =
      gpu::open_libraries(std::array<std::filesystem::path, 1>{folder.path()});
  EXPECT_EQ(found.why_not, "");
  if (found.cublaslt || found.cudnn) GTEST_SKIP() << "this machine has them";
  ASSERT_EQ(found.notes.size(), 2u);
  EXPECT_EQ(found.notes[0], "there is no libcublasLt.so.13: products run in our own kernels");
  EXPECT_EQ(found.notes[1], "there is no libcudnn.so.9: convolutions run in our own kernels");
}

TEST(GpuDevice, TellsWhatItIs) {
  const gpu::DeviceFacts& facts = fake_device().facts();
  EXPECT_EQ(facts.name, "Fake GPU");
  EXPECT_EQ(facts.compute_capability, 90);
  EXPECT_EQ(facts.multiprocessors, 132);
}

TEST(GpuDevice, AFailedCallIsNamedWithWhatWasBeingDone) {
  EXPECT_EQ(error_message([] { fake_device().check(1, "copying inputs"); }),
            "copying inputs failed: CUDA_ERROR_INVALID_VALUE");
}

TEST(GpuMemory, IsFreedWithItsOwner) {
  const std::int64_t before = fake_live_bytes();
  {
    gpu::Memory memory(fake_device(), 1000, "weights");
    EXPECT_EQ(fake_live_bytes(), before + 1000);
    gpu::Memory other = std::move(memory);
    other = gpu::Memory(fake_device(), 500, "weights");
    EXPECT_EQ(fake_live_bytes(), before + 500);
  }
  EXPECT_EQ(fake_live_bytes(), before);
}

TEST(GpuMemory, SaysHowMuchIsMissing) {
  const FakeSetting small("FAKE_CUDA_MEMORY", std::to_string(fake_live_bytes() + (8 << 20)));
  const std::string message =
      error_message([] { gpu::Memory(fake_device(), std::int64_t{32} << 20, "activations"); });
  EXPECT_TRUE(says(message, "activations take 32.0 MB on the GPU, 8.0 of ")) << message;
}

std::vector<float> numbers_on_device(const gpu::Stream& stream, const gpu::Memory& memory) {
  std::vector<float> numbers(static_cast<std::size_t>(memory.bytes()) / sizeof(float));
  stream.copy_out(std::as_writable_bytes(std::span(numbers)), memory.address());
  stream.wait("copying");
  return numbers;
}

TEST(GpuCode, RunsOnceForEachThread) {
  const gpu::Code code(fake_device(), R"(
extern "C" __global__ void twice(float* x, long long count) {
  const long long i = blockIdx.x * 64ll + threadIdx.x;
  if (i < count) x[i] *= 2;
})");
  const gpu::Stream stream(fake_device());
  const std::array<float, 3> numbers = {1, 2, 3};
  const gpu::Memory memory(fake_device(), sizeof(numbers), "numbers");
  stream.copy_in(memory.address(), std::as_bytes(std::span(numbers)));
  gpu::launch(stream, code.function("twice"), {.threads = 64},
              std::array<std::uint64_t, 2>{memory.address(), 3});
  EXPECT_EQ(numbers_on_device(stream, memory), (std::vector<float>{2, 4, 6}));
}

TEST(GpuCode, ThreadsOfABlockWorkTogether) {
  const gpu::Code code(fake_device(), R"(
#ifdef ASSAY_EMULATED
extern "C" int sum_cooperates;
int sum_cooperates = 1;
#endif
extern "C" __global__ void sum(float* x, float* out) {
  __shared__ float parts[4];
  float value = x[threadIdx.x];
  for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(0xffffffffu, value, mask);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  if (threadIdx.x == 0) out[0] = parts[0] + parts[1] + parts[2] + parts[3];
})");
  const gpu::Stream stream(fake_device());
  std::vector<float> numbers(128);
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  const gpu::Memory in(fake_device(), 128 * 4, "numbers");
  const gpu::Memory out(fake_device(), 4, "sum");
  stream.copy_in(in.address(), std::as_bytes(std::span(numbers)));
  gpu::launch(stream, code.function("sum"), {.threads = 128},
              std::array<std::uint64_t, 2>{in.address(), out.address()});
  EXPECT_EQ(numbers_on_device(stream, out), (std::vector<float>{128 * 129 / 2}));
}

TEST(GpuCode, WhatDoesNotCompileIsShownWithTheCompilersWords) {
  const std::string message =
      error_message([] { gpu::compiled(fake_device(), "__global__ void f() { nonsense; }"); });
  EXPECT_TRUE(says(message, "NVRTC refuses a kernel")) << message;
  EXPECT_TRUE(says(message, "nonsense")) << message;
}

TEST(GpuStream, ACapturedGraphRunsWhenItIsLaunchedAndNotBefore) {
  const gpu::Stream stream(fake_device());
  const gpu::Memory memory(fake_device(), 4, "number");
  stream.fill(memory.address(), 0, 4);
  stream.begin_capture();
  stream.fill(memory.address(), 0x40, 4);
  const gpu::Owned graph = stream.end_capture();
  EXPECT_EQ(numbers_on_device(stream, memory)[0], 0.0f);
  stream.launch(graph);
  EXPECT_EQ(numbers_on_device(stream, memory)[0], 3.00392151f);
}

}  // namespace
}  // namespace assay
