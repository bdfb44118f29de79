#include "timing/board_throttling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/scratch_folder.h"
#include "timing/simulation.h"

namespace assay {

using namespace assay::timing;

namespace {

using namespace assay::testing;
using ::testing::HasSubstr;

// Strings of the device tree end with a zero byte.
const std::string kPi4("Raspberry Pi 4 Model B Rev 1.4\0", 31);

Measurement measure_with_flags(std::optional<std::uint32_t> before,
                               std::optional<std::uint32_t> after) {
  FakeClock clock;
  FakeMachine machine({{.throttled = before}, {.throttled = after}});
  return measure(constant_work(clock, 10e6), {}, nullptr, clock, machine);
}

TEST(Throttled, IsReadAsVcgencmdAndAsTheKernelPrintIt) {
  EXPECT_EQ(parse_throttled("throttled=0x50005\n"), 0x50005u);
  EXPECT_EQ(parse_throttled("50005\n"), 0x50005u);
  EXPECT_EQ(parse_throttled("0"), 0u);
  EXPECT_FALSE(parse_throttled(""));
  EXPECT_FALSE(parse_throttled("error=1 error_msg=\"Command not registered\""));
  EXPECT_FALSE(parse_throttled("throttled=0x123456789"));
}

TEST(Throttled, ABoardThatWasNeverThrottledHasNoWarning) {
  EXPECT_TRUE(measure_with_flags(0, 0).warnings.empty());
  EXPECT_TRUE(measure_with_flags(std::nullopt, std::nullopt).warnings.empty());
}

TEST(Throttled, UnderVoltageDuringAMeasurementMakesItNoisy) {
  // Bit 16 was set between the two readings, although bit 0 is set at neither.
  const auto measured = measure_with_flags(0, 0x10000);
  ASSERT_TRUE(find_warning(measured, "under-voltage"));
  EXPECT_THAT(find_warning(measured, "under-voltage")->message, HasSubstr("0x10000"));
  EXPECT_FALSE(find_warning(measured, "throttling"));
  EXPECT_EQ(measured.verdict, Verdict::Noisy);
}

TEST(Throttled, WhatHappenedBeforeTheMeasurementIsNotItsProblem) {
  EXPECT_TRUE(measure_with_flags(0x50000, 0x50000).warnings.empty());
}

TEST(Throttled, EveryReasonOfALowerFrequencyIsThrottling) {
  // Capped, throttled, and the soft limit of temperature; at the start, at the end.
  EXPECT_THAT(find_warning(measure_with_flags(0x2, 0x20000), "throttling")->message,
              HasSubstr("capped"));
  EXPECT_THAT(find_warning(measure_with_flags(0, 0x40004), "throttling")->message,
              HasSubstr("throttled the processor"));
  EXPECT_THAT(find_warning(measure_with_flags(0, 0x80008), "throttling")->message,
              HasSubstr("warm"));
  EXPECT_EQ(measure_with_flags(0, 0x80008).verdict, Verdict::Noisy);
}

class BoardFiles : public InScratchFolder {
 protected:
  void put(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_.string() + path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
};

TEST_F(BoardFiles, TheCommandRunsOnARaspberryPiOnly) {
  const auto run = [] { return "throttled=0x4\n"; };
  EXPECT_FALSE(read_throttled(folder_.string(), run));
  put("/proc/device-tree/model", "NVIDIA Jetson Orin Nano Developer Kit");
  EXPECT_FALSE(read_throttled(folder_.string(), run));
  put("/proc/device-tree/model", kPi4);
  EXPECT_EQ(read_throttled(folder_.string(), run), 4u);
}

TEST_F(BoardFiles, TheKernelsFilesStandInForTheCommand) {
  const auto cannot = []() -> std::optional<std::string> { return std::nullopt; };
  put("/proc/device-tree/model", kPi4);
  EXPECT_FALSE(read_throttled(folder_.string(), cannot));
  put("/sys/class/hwmon/hwmon1/name", "rpi_volt\n");
  put("/sys/class/hwmon/hwmon1/in0_lcrit_alarm", "1\n");
  EXPECT_EQ(read_throttled(folder_.string(), cannot), 1u);
  put("/sys/devices/platform/soc/soc:firmware/get_throttled", "50000\n");
  EXPECT_EQ(read_throttled(folder_.string(), cannot), 0x50000u);
}

}  // namespace
}  // namespace assay
