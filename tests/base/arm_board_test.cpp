#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>

#include "base/arm_processor.h"
#include "base/cache_sizes.h"
#include "support/scratch_folder.h"

namespace assay {
namespace {

class ArmBoard : public InScratchFolder {
 protected:
  std::string root() const { return folder_.string(); }
  void put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = root() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  // As the device tree stores it: big-endian.
  void put_number(const std::string& path, std::uint32_t number) {
    std::string bytes;
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(number >> shift & 0xff);
    put("/proc/device-tree/" + path, bytes);
  }
  void put_processors(const std::string& part, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text += "processor\t: " + std::to_string(i) + "\nBogoMIPS\t: 108.00\n";
      text += "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\n";
      text += "CPU part\t: " + part + "\nCPU revision\t: 3\n\n";
    }
    cpuinfo_ += text;
    put("/proc/cpuinfo", cpuinfo_);
  }

 private:
  std::string cpuinfo_ = "";
};

void expect_cache(const CacheSize& cache, int level, std::int64_t bytes, int processors) {
  EXPECT_EQ(cache.level, level);
  EXPECT_EQ(cache.bytes, bytes);
  EXPECT_EQ(cache.processors, processors);
}

TEST(ArmCore, IsNamedByItsImplementerAndPart) {
  EXPECT_EQ(arm_core_name(0x410fd083), "Cortex-A72");
  EXPECT_EQ(arm_core_name(0x414fd0b1), "Cortex-A76");
  EXPECT_EQ(arm_core_name(0x410fd423), "Cortex-A78AE");
  EXPECT_EQ(arm_core_name(0x411fd401), "Neoverse-V1");
  EXPECT_EQ(arm_core_name(0x410fd831), "Neoverse-V3AE");
  EXPECT_EQ(arm_core_name(0x410ffff0), "ARM core 0x41/0xfff");
}

TEST_F(ArmBoard, IsNamedByItsDeviceTreeAndItsCores) {
  put_processors("0xd08", 4);
  EXPECT_EQ(arm_processor_name(root()), "Cortex-A72");
  put("/proc/device-tree/model", std::string("Raspberry Pi 4 Model B Rev 1.4\0", 31));
  EXPECT_EQ(arm_processor_name(root()), "Raspberry Pi 4 Model B Rev 1.4, Cortex-A72");
}

TEST_F(ArmBoard, WithBigAndLittleCoresNamesBoth) {
  put_processors("0xd05", 4);
  put_processors("0xd0b", 2);
  EXPECT_EQ(arm_processor_name(root()), "Cortex-A55 + Cortex-A76");
}

TEST_F(ArmBoard, AnotherArchitectureHasNoSuchName) {
  EXPECT_FALSE(arm_processor_name(root()));
  put("/proc/cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Intel\n");
  EXPECT_FALSE(arm_processor_name(root()));
}

TEST_F(ArmBoard, CachesComeFromSysfs) {
  const std::string cache = "/sys/devices/system/cpu/cpu0/cache/";
  for (const auto& [name, level, type, size, shared] :
       {std::array{"index0", "1", "Data", "64K", "0"},
        std::array{"index1", "1", "Instruction", "64K", "0"},
        std::array{"index2", "2", "Unified", "512K", "0"},
        std::array{"index3", "3", "Unified", "2048K", "0-3"}}) {
    put(cache + name + "/level", level);
    put(cache + name + "/type", type);
    put(cache + name + "/size", size);
    put(cache + name + "/shared_cpu_list", shared);
  }
  const auto caches = cache_sizes(root());
  ASSERT_EQ(caches.size(), 3u);
  expect_cache(caches[0], 1, 64 << 10, 1);
  expect_cache(caches[1], 2, 512 << 10, 1);
  expect_cache(caches[2], 3, 2 << 20, 4);
}

// A Raspberry Pi 4: four processors, one cache behind them all.
TEST_F(ArmBoard, CachesComeFromTheDeviceTreeWhereSysfsHasNoSizes) {
  put("/sys/devices/system/cpu/cpu0/cache/index0/level", "1");
  for (const char* processor : {"cpus/cpu@0/", "cpus/cpu@1/", "cpus/cpu@2/", "cpus/cpu@3/"}) {
    put_number(std::string(processor) + "d-cache-size", 32 << 10);
    put_number(std::string(processor) + "next-level-cache", 7);
  }
  put_number("cpus/l2-cache0/phandle", 7);
  put_number("cpus/l2-cache0/cache-size", 1 << 20);
  const auto caches = cache_sizes(root());
  ASSERT_EQ(caches.size(), 2u);
  expect_cache(caches[0], 1, 32 << 10, 1);
  expect_cache(caches[1], 2, 1 << 20, 4);
}

// A Raspberry Pi 5: a second cache for each processor, a third one behind them all.
TEST_F(ArmBoard, CachesAreFollowedThroughTheDeviceTree) {
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::string processor = "cpus/cpu@" + std::to_string(i) + "00/";
    const std::string second = "cpus/l2-cache-l" + std::to_string(i) + "/";
    put_number(processor + "d-cache-size", 64 << 10);
    put_number(processor + "next-level-cache", 10 + i);
    put_number(second + "phandle", 10 + i);
    put_number(second + "cache-size", 512 << 10);
    put_number(second + "next-level-cache", 20);
  }
  put_number("cpus/l3-cache/phandle", 20);
  put_number("cpus/l3-cache/cache-size", 2 << 20);
  const auto caches = cache_sizes(root());
  ASSERT_EQ(caches.size(), 3u);
  expect_cache(caches[0], 1, 64 << 10, 1);
  expect_cache(caches[1], 2, 512 << 10, 1);
  expect_cache(caches[2], 3, 2 << 20, 4);
}

// Cores without a cache of their own between the first and the shared one.
TEST_F(ArmBoard, TheDeviceTreeMaySkipALevel) {
  put_number("cpus/cpu@0/next-level-cache", 20);
  put_number("cpus/cache-controller-0/phandle", 20);
  put_number("cpus/cache-controller-0/cache-size", 256 << 10);
  put_number("cpus/cache-controller-0/cache-level", 3);
  const auto caches = cache_sizes(root());
  ASSERT_EQ(caches.size(), 1u);
  expect_cache(caches[0], 3, 256 << 10, 1);
}

TEST_F(ArmBoard, ADamagedDeviceTreeEnds) {
  put_number("cpus/cpu@0/next-level-cache", 7);
  put_number("cpus/l2-cache/phandle", 7);
  put_number("cpus/l2-cache/next-level-cache", 7);
  put("/proc/device-tree/cpus/cpu@0/d-cache-size", "?");
  EXPECT_TRUE(cache_sizes(root()).empty());
}

TEST(CacheSizes, TheLastCacheOfThisMachineHasASize) {
  EXPECT_GT(last_cache_bytes(), 0);
}

}  // namespace
}  // namespace assay
