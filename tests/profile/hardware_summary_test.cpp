#include "assay/hardware_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "assay/error.h"
#include "base/text.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Bytes: 640 + 50,176 + 62,760 + 40 = 113,616. MACs: 112,896 + 15,680 = 128,576.
std::vector<LayerEstimate> two_layers() {
  return {{.layer = "conv1",
           .output_elements = 12'544,
           .parameter_bytes = 640,
           .activation_bytes = 50'176,
           .macs = 112'896},
          {.layer = "classifier",
           .output_elements = 10,
           .parameter_bytes = 62'760,
           .activation_bytes = 40,
           .macs = 15'680}};
}

TEST(HardwareSummary, FollowsItsFormulas) {
  const HardwareSummary summary = summarize_hardware(two_layers(), 2.0, 4.3);
  EXPECT_EQ(summary.estimated_total_bytes, 640 + 50'176 + 62'760 + 40);
  EXPECT_EQ(summary.estimated_total_macs, 112'896 + 15'680);
  EXPECT_EQ(summary.achieved_bandwidth_gbps, 113'616.0 / (2.0 / 1000.0) / 1e9);
  EXPECT_EQ(summary.configured_memory_bandwidth_gbps, 4.3);
  EXPECT_EQ(summary.bandwidth_utilization, 113'616.0 / (2.0 / 1000.0) / 1e9 / 4.3);
  EXPECT_EQ(summary.achieved_gmacs, 128'576.0 / (2.0 / 1000.0) / 1e9);
  EXPECT_EQ(summary.arithmetic_intensity_macs_per_byte, 128'576.0 / 113'616.0);
  EXPECT_EQ(summary.latency_ms, 2.0);
  EXPECT_EQ(clamped_figures(summary), "");
}

TEST(HardwareSummary, HasARooflineOnlyWithAPeak) {
  const HardwareSummary without = summarize_hardware(two_layers(), 2.0, 4.0);
  EXPECT_FALSE(without.configured_peak_compute_gmacs);
  EXPECT_FALSE(without.roofline_knee_macs_per_byte);
  EXPECT_FALSE(without.bound_regime);
  const HardwareSummary with = summarize_hardware(two_layers(), 2.0, 4.0, 24.0);
  EXPECT_EQ(with.configured_peak_compute_gmacs, 24.0);
  EXPECT_EQ(with.roofline_knee_macs_per_byte, 24.0 / 4.0);
  EXPECT_EQ(with.bound_regime, "memory-bound");  // 1.13 is below 6
}

TEST(HardwareSummary, IsComputeBoundOnTheKneeItself) {
  const std::vector<LayerEstimate> layers = {
      {.layer = "a", .parameter_bytes = 60, .activation_bytes = 40, .macs = 600}};
  EXPECT_EQ(summarize_hardware(layers, 1, 4.0, 24.0).bound_regime, "compute-bound");  // 6 = 24/4
  EXPECT_EQ(summarize_hardware(layers, 1, 4.0, 24.1).bound_regime, "memory-bound");
}

TEST(HardwareSummary, ClampsLatencyAtOneNanosecondAndSaysSo) {
  for (const double latency_ms : {0.0, -5.0, 1e-7}) {
    const HardwareSummary summary = summarize_hardware(two_layers(), latency_ms, 4.0);
    EXPECT_EQ(summary.achieved_bandwidth_gbps, 113'616.0 / 1e-9 / 1e9);
    EXPECT_DOUBLE_EQ(summary.latency_ms, 1e-6);
    EXPECT_EQ(clamped_figures(summary), "latency");
  }
  EXPECT_EQ(clamped_figures(summarize_hardware(two_layers(), 1.1e-6, 4.0)), "");
}

TEST(HardwareSummary, ClampsBandwidthAndSaysSo) {
  for (const double bandwidth : {0.0, -4.0, 1e-9}) {
    const HardwareSummary summary = summarize_hardware(two_layers(), 2.0, bandwidth, 24.0);
    EXPECT_EQ(summary.configured_memory_bandwidth_gbps, bandwidth);  // as given
    EXPECT_EQ(summary.assumed_memory_bandwidth_gbps, 1e-9);
    EXPECT_EQ(summary.bandwidth_utilization, summary.achieved_bandwidth_gbps / 1e-9);
    EXPECT_EQ(summary.roofline_knee_macs_per_byte, 24.0 / 1e-9);
    EXPECT_EQ(clamped_figures(summary), "bandwidth");
  }
  EXPECT_EQ(clamped_figures(summarize_hardware(two_layers(), 0, 0)), "latency bandwidth");
  EXPECT_EQ(clamped_figures(summarize_hardware(two_layers(), 2.0, 1.1e-9)), "");
}

TEST(HardwareSummary, RefusesValuesThatAreNotFinite) {
  for (const double bad : {kNan, kInfinity, -kInfinity}) {
    EXPECT_THROW(summarize_hardware(two_layers(), bad, 4.0), Error);
    EXPECT_THROW(summarize_hardware(two_layers(), 2.0, bad), Error);
    EXPECT_THROW(summarize_hardware(two_layers(), 2.0, 4.0, bad), Error);
  }
  EXPECT_THROW(summarize_hardware(two_layers(), 2.0, 4.0, 0.0), Error);
  EXPECT_THROW(summarize_hardware({}, 2.0, 4.0), Error);
  EXPECT_THROW(summarize_hardware({{.layer = "a", .macs = -1}}, 2.0, 4.0), Error);
}

TEST(HardwareSummary, HasNoIntensityWithoutBytes) {
  const HardwareSummary summary = summarize_hardware({{.layer = "a", .macs = 5}}, 2.0, 4.0, 24.0);
  EXPECT_FALSE(summary.arithmetic_intensity_macs_per_byte);
  EXPECT_FALSE(summary.bound_regime);
  EXPECT_EQ(interpret_utilization(summary, {{.layer = "a", .macs = 5}}).advice.size(), 1u);
}

TEST(Utilization, HasItsBoundariesInTheMiddleClass) {
  EXPECT_EQ(utilization_class(0.8), UtilizationClass::Balanced);
  EXPECT_EQ(utilization_class(std::nextafter(0.8, 1.0)), UtilizationClass::MemoryBound);
  EXPECT_EQ(utilization_class(0.2), UtilizationClass::Balanced);
  EXPECT_EQ(utilization_class(std::nextafter(0.2, 0.0)), UtilizationClass::ComputeBound);
  EXPECT_EQ(utilization_class(3.0), UtilizationClass::MemoryBound);
  EXPECT_EQ(name(UtilizationClass::ComputeBound), "compute-bound or inefficient access");
}

std::string advice_at(double bandwidth_gbps, UtilizationClass expected) {
  const auto layers = two_layers();
  const auto summary = summarize_hardware(layers, 2.0, bandwidth_gbps);  // 0.0568 GB/s are achieved
  const UtilizationReading reading = interpret_utilization(summary, layers);
  EXPECT_EQ(reading.utilization, expected);
  return join(reading.advice, "\n");
}

TEST(Utilization, SaysWhyTheRegimeDisagrees) {
  const auto layers = two_layers();
  const auto reading = [&](double bandwidth, double peak) {
    return interpret_utilization(summarize_hardware(layers, 2.0, bandwidth, peak), layers).sentence;
  };
  // 1.13 MACs a byte: below a knee of 24/4 although only 1.4% are used, above one of 0.03/0.06.
  EXPECT_THAT(reading(4.0, 24.0),
              HasSubstr("memory-bound nevertheless: 1.13 MACs per byte lie below"));
  EXPECT_THAT(reading(0.06, 0.03), HasSubstr("compute-bound nevertheless"));
  EXPECT_THAT(reading(0.06, 24.0), Not(HasSubstr("nevertheless")));
}

TEST(Utilization, NamesTheLayersThatMoveTheMostWhenMemoryBound) {
  const std::string advice = advice_at(0.06, UtilizationClass::MemoryBound);
  EXPECT_THAT(advice, HasSubstr("'classifier' (61.3 KiB, 55%), 'conv1' (49.6 KiB, 45%)"));
  EXPECT_THAT(advice, HasSubstr("'classifier' does 0.25 MACs per byte, the model 1.13"));
  EXPECT_THAT(advice, HasSubstr("111 KiB at 4 bytes a value become 55.5 KiB with 2 bytes a value"));
  EXPECT_THAT(advice, HasSubstr("27.7 KiB with 1 byte a value"));
  EXPECT_THAT(advice, HasSubstr("Tile: 'conv1' writes 49.0 KiB"));
}

TEST(Utilization, NamesSingleLayersWhenBalanced) {
  const std::string advice = advice_at(0.1, UtilizationClass::Balanced);
  EXPECT_THAT(advice, HasSubstr("'conv1' (113 k MACs, 88%)"));
  EXPECT_THAT(advice, HasSubstr("parameters are 56% of the bytes, most of them in 'classifier'"));
}

TEST(Utilization, TellsWhereTheTimeCannotGoBelowATenthOfTheBandwidth) {
  const std::string advice = advice_at(4.3, UtilizationClass::ComputeBound);
  EXPECT_THAT(advice, HasSubstr("its 111 KiB take 0.0264 of the 2 ms at 4.3 GB/s"));
  EXPECT_THAT(advice, HasSubstr("0.0643 GMAC/s are reached; most work is in 'conv1'"));
  EXPECT_THAT(advice,
              HasSubstr("2 layers, 1 ms each on average, though 'conv1' moves only 49.6 KiB"));
  EXPECT_THAT(advice, HasSubstr("Quantise or accelerate, 'conv1' first"));
  EXPECT_THAT(advice, Not(HasSubstr("peak")));
}

}  // namespace
}  // namespace assay
