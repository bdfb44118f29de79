#include "assay/hardware_comparison.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

const std::vector<LayerEstimate> kLayers = {{.layer = "a",
                                             .parameter_bytes = 4'000'000,
                                             .activation_bytes = 1'000'000,
                                             .macs = 60'000'000}};

TEST(DeviceComparison, ComparesTheSameModelOnEveryDevice) {
  auto devices = reference_devices();
  devices.push_back({"this machine", 10.0, 2.0, "measured"});
  const auto rows = compare_devices(kLayers, 5.0, devices);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].device.name, "Raspberry Pi 4");
  EXPECT_EQ(rows[0].summary.configured_memory_bandwidth_gbps, 4.3);
  EXPECT_EQ(rows[1].summary.configured_memory_bandwidth_gbps, 25.6);
  EXPECT_EQ(rows[2].summary.configured_memory_bandwidth_gbps, 50.0);
  EXPECT_EQ(rows[3].summary.bandwidth_utilization, 5e6 / (5.0 / 1000.0) / 1e9 / 10.0);
  EXPECT_EQ(rows[3].summary.bound_regime, "compute-bound");  // 12 MACs a byte, the knee at 2/10
}

TEST(DeviceComparison, GivesTheLongerTimeOfBytesAndMacs) {
  const auto rows =
      compare_devices(kLayers, 5.0, {{"a", 10.0, std::nullopt, ""}, {"b", 10.0, 2.0, ""}});
  EXPECT_DOUBLE_EQ(rows[0].roofline_latency_ms, 5e6 / 10e9 * 1000);  // bytes alone
  EXPECT_DOUBLE_EQ(rows[1].roofline_latency_ms, 60e6 / 2e9 * 1000);  // MACs take longer
}

TEST(HardwareImpact, GivesTheChangeOfEachFigure) {
  std::vector<LayerEstimate> halved = kLayers;
  halved[0].parameter_bytes /= 2;
  const auto impact = compare_summaries(summarize_hardware(kLayers, 5.0, 10.0),
                                        summarize_hardware(halved, 4.0, 10.0));
  EXPECT_EQ(impact[0].name, "estimated_total_bytes");
  EXPECT_EQ(impact[0].before, 5e6);
  EXPECT_EQ(impact[0].after, 3e6);
  EXPECT_DOUBLE_EQ(*impact[0].change_percent, 100.0 * (3e6 - 5e6) / 5e6);
  EXPECT_EQ(impact[1].name, "estimated_total_macs");
  EXPECT_EQ(*impact[1].change_percent, 0);
  EXPECT_EQ(impact[2].name, "latency_ms");
  EXPECT_DOUBLE_EQ(*impact[2].change_percent, -20);
  EXPECT_EQ(impact[3].name, "achieved_bandwidth_gbps");
  EXPECT_DOUBLE_EQ(*impact[3].change_percent, 100.0 * (0.75 - 1.0) / 1.0);
}

TEST(HardwareImpact, HasNoPercentageWithoutAPreviousValue) {
  const std::vector<LayerEstimate> idle = {{.layer = "a", .parameter_bytes = 8}};
  const auto impact = compare_summaries(summarize_hardware(idle, 5.0, 10.0),
                                        summarize_hardware(kLayers, 5.0, 10.0));
  EXPECT_EQ(impact[1].before, 0);
  EXPECT_EQ(impact[1].after, 60e6);
  EXPECT_FALSE(impact[1].change_percent);
}

}  // namespace
}  // namespace assay
