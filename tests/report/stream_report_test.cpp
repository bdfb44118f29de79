#include "assay/stream_report.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "assay/error.h"
#include "report/golden.h"
#include "support/file_content.h"
#include "support/scratch_folder.h"

namespace assay {
namespace {

// Every figure is made up, so that reports of it never change by themselves.
HardwareProfile fixed_estimate() {
  HardwareProfile profile;
  profile.model = {.name = "tiny.onnx",
                   .opset = 17,
                   .inputs = {{"x", tensor_type(DataType::Float32, Shape{2, 8})}},
                   .outputs = {{"y", tensor_type(DataType::Float32, Shape{2, 1})}}};
  profile.batch = 2;
  profile.stream_interval_ms = 5;
  profile.operator_profile = {
      {.operator_name = "fc, first",
       .latency_ms = 1.5,
       .memory_kb = 300,
       .bound = Bound::Memory,
       .bound_level = "L2",
       .fused = {"relu"}},
      {.operator_name = "odd"},
      {.operator_name = "fc2", .latency_ms = 0.5, .memory_kb = 100, .bound = Bound::Overhead}};
  profile.totals = {.latency_ms = 2,
                    .memory_kb = 400,
                    .estimated_bandwidth_mb_s = 195.3125,
                    .stream_utilization = 0.4,
                    .stream_utilization_uncapped = 0.4,
                    .overhead_ms = 0.6};
  profile.precision_tradeoffs = {400, 200, 100, "A note on precision."};
  profile.edge_constraints = {"A sentence on caches.", "A sentence on the bottleneck."};
  profile.forecast = {.is_calibrated = true,
                      .outlook = StreamOutlook::KeepsUp,
                      .reason = "a reason",
                      .latency_low_ms = 1.6,
                      .latency_high_ms = 2.5};
  profile.stored_bytes = 4096;
  profile.activation_bytes = 512;
  profile.roofline = {.threads = 2, .step_overhead_ms = 0.3};
  profile.warnings = {"odd was not counted"};
  return profile;
}

StreamMeasurement fixed_measurement() {
  StreamMeasurement measured{.interval_ms = 5, .deadline_ms = 4};
  measured.items = {{0, 0, 3}, {5, 5.5, 9.5}};
  measured.arrived = 3;
  measured.unserved = 1;
  measured.largest_backlog = 1;
  measured.missed_deadlines = 1;
  measured.elapsed_ms = 15;
  measured.busy_ms = 7;
  measured.utilization = 7.0 / 15;
  measured.service = {.mean_ms = 3.5, .median_ms = 3.5, .max_ms = 4};
  measured.queueing = {.mean_ms = 0.25, .median_ms = 0.25, .p90_ms = 0.45, .max_ms = 0.5};
  measured.response = {.mean_ms = 3.75, .median_ms = 3.75, .p90_ms = 4.4, .max_ms = 4.5};
  measured.verdict = StreamVerdict::Undecided;
  measured.reason = "3 items are too few to tell, 10 needed";
  return measured;
}

StreamReport fixed_stream() {
  StreamReport report{.profile = fixed_estimate()};
  report.streamed.measured = fixed_measurement();
  report.streamed.search = {.interval_ms = 4.25,
                            .is_confirmed = true,
                            .probes = {{4, StreamVerdict::Overloaded, 1, 0.9, false},
                                       {4.25, StreamVerdict::Sustainable, 0.95, 0.1, true}},
                            .elapsed_seconds = 12.5};
  report.deployment = {.batch = 2,
                       .rounds = 30,
                       .batch_latency_ms = 3,
                       .batch_throughput_sps = 666.5,
                       .stream_avg_latency_ms = 2,
                       .stream_throughput_sps = 500};
  return report;
}

TEST(StreamReport, IsATable) {
  expect_golden("stream.txt", stream_table(fixed_stream()));
  HardwareProfile at_least = fixed_estimate();
  at_least.forecast = {.outlook = StreamOutlook::Unknown, .reason = "a lower bound"};
  expect_golden("stream_estimate.txt", stream_table({.profile = at_least}));
}

TEST(StreamReport, IsJson) {
  expect_golden("stream.json", stream_json(fixed_stream()));
}

TEST(StreamReport, OfManyOperatorsShowsTheSlowest) {
  HardwareProfile profile = fixed_estimate();
  for (int i = 0; i < 20; ++i) {
    profile.operator_profile.push_back(
        {.operator_name = "layer" + std::to_string(i), .latency_ms = 0.01 * i, .memory_kb = 1});
  }
  const std::string table = stream_table({.profile = profile});
  EXPECT_NE(table.find("layer19 "), std::string::npos);
  EXPECT_EQ(table.find("layer3 "), std::string::npos);
  EXPECT_NE(table.find("(8 more)"), std::string::npos);
}

TEST(StreamArtifacts, AreTwoFilesOfValues) {
  const ScratchFolder scratch;
  const auto folder = scratch.path() / "stream_artifacts" / "deep";
  const auto written = write_hardware_profile_artifacts(fixed_estimate(), folder);
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(written.at("operator_profile_csv"), folder / "operator_profile.csv");
  EXPECT_EQ(content(written.at("operator_profile_csv")),
            "operator,latency_ms,memory_kb\n\"fc, first\",1.5,300\nodd,,\nfc2,0.5,100\n");
  EXPECT_EQ(content(written.at("hardware_totals_csv")),
            "latency_ms,memory_kb,estimated_bandwidth_mb_s,stream_utilization,"
            "stream_utilization_uncapped,overhead_ms\n2,400,195.3125,0.4,0.4,0.6\n");
}

TEST(StreamArtifacts, SayWhyTheyCannotBeWritten) {
  EXPECT_THROW(write_hardware_profile_artifacts(fixed_estimate(), "/proc/nowhere"), Error);
}

}  // namespace
}  // namespace assay
