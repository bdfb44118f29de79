#include "timing/gpu_warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace assay {

using namespace assay::timing;

namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

MachineTimes limited(double power_seconds, double heat_seconds) {
  return {.gpu = GpuState{.clock_mhz = 1200,
                          .top_clock_mhz = 1980,
                          .most_watts = 700,
                          .celsius = 88,
                          .power_limited_seconds = power_seconds,
                          .heat_limited_seconds = heat_seconds}};
}

TEST(GpuWarnings, LimitsOfLongAgoAreNone) {
  EXPECT_THAT(gpu_warnings(limited(5, 7), limited(5, 7)), IsEmpty());
  EXPECT_THAT(gpu_warnings({}, {}), IsEmpty());
}

TEST(GpuWarnings, HeatMakesAMeasurementNoisy) {
  const auto warnings = gpu_warnings(limited(5, 7), limited(5, 7.5));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].name, "throttling");
  EXPECT_TRUE(warnings[0].makes_noisy);
  EXPECT_THAT(warnings[0].message, HasSubstr("500.0 ms at 88 °C; it ends at 1200 of 1980 MHz"));
}

TEST(GpuWarnings, ThePowerLimitIsPartOfWhatTheGpuIs) {
  const auto warnings = gpu_warnings(limited(5, 7), limited(5.25, 7));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].name, "power-limit");
  EXPECT_FALSE(warnings[0].makes_noisy);
  EXPECT_THAT(warnings[0].message, HasSubstr("its power limit of 700 W for 250.0 ms"));
}

}  // namespace
}  // namespace assay
