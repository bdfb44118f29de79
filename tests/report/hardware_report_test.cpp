#include "assay/hardware_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "assay/error.h"
#include "assay/zoo.h"
#include "report/golden.h"
#include "report/picture.h"
#include "support/file_content.h"
#include "support/scratch_folder.h"

namespace assay {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::ordered_json;

std::vector<LayerEstimate> some_layers() {
  return {{"conv1", 12'544, 640, 50'176, 112'896}, {"classifier", 10, 62'760, 40, 15'680}};
}

std::vector<LayerEstimate> many_layers(int count) {
  std::vector<LayerEstimate> layers;
  for (int i = 0; i < count; ++i) {
    layers.push_back({"block" + std::to_string(i), i, 4 * i, 400 * (i % 7), 1000 * (i % 11)});
  }
  return layers;
}

HardwareSummary some_summary() {
  return summarize_hardware(some_layers(), 2.0, 4.0);
}

using HardwareArtifacts = InScratchFolder;

TEST(HardwareTable, IsPinned) {
  const auto layers = estimate_layerwise_stats(zoo_model("small_cnn"), 1);
  const auto summary = summarize_hardware(layers, 0.05, 4.3, 24.0);
  expect_golden("hardware_summary.txt",
                hardware_summary_table(summary, interpret_utilization(summary, layers)));
  auto devices = reference_devices();
  devices.push_back({"this machine", 12.5, 89.0, "measured here"});
  expect_golden("device_comparison.txt",
                device_comparison_table(compare_devices(layers, 0.05, devices)));
  const auto halved = estimate_layerwise_stats(zoo_model("small_cnn"), 1, {1, 28, 28}, 2);
  expect_golden("hardware_impact.txt", hardware_impact_table(compare_summaries(
                                           summary, summarize_hardware(halved, 0.04, 4.3, 24.0))));
}

// The worked example of the documentation is what the library prints.
TEST(HardwareTable, IsQuotedInTheDocumentation) {
  const fs::path tests = ASSAY_TESTS_DIR;
  const std::string page = content(tests / "../docs/hardware-summary.md");
  for (const char* part :
       {"hardware_summary.txt", "device_comparison.txt", "hardware_impact.txt"}) {
    EXPECT_THAT(page, HasSubstr(content(tests / "report/golden" / part))) << part;
  }
}

TEST(HardwareTable, SaysWhatWasClamped) {
  const auto layers = some_layers();
  const auto summary = summarize_hardware(layers, 0, 0);
  const std::string text = hardware_summary_table(summary, interpret_utilization(summary, layers));
  EXPECT_THAT(text, HasSubstr("The latency was raised to 1e-9 s"));
  EXPECT_THAT(text, HasSubstr("The bandwidth was raised to 1e-9 GB/s"));
  EXPECT_THAT(hardware_summary_csv(summary), HasSubstr(",latency bandwidth\n"));
}

TEST(HardwareJson, HasTheRooflineKeysOnlyWithAPeak) {
  const auto layers = some_layers();
  const auto json_of = [&](std::optional<double> peak) {
    const auto summary = summarize_hardware(layers, 2.0, 4.0, peak);
    return Json::parse(hardware_summary_json(summary, interpret_utilization(summary, layers)));
  };
  const Json without = json_of(std::nullopt);
  EXPECT_EQ(without["estimated_total_bytes"], 113'616);
  EXPECT_EQ(without["clamped"], Json::array());
  EXPECT_EQ(without["limits"].size(), 5u);
  EXPECT_FALSE(without.contains("bound_regime"));
  EXPECT_FALSE(without.contains("configured_peak_compute_gmacs"));
  EXPECT_EQ(json_of(24.0)["roofline_knee_macs_per_byte"], 6.0);
  EXPECT_EQ(json_of(24.0)["bound_regime"], "memory-bound");
}

TEST(HardwareJson, ListsDevicesAndImpact) {
  const auto rows = compare_devices(some_layers(), 2.0, reference_devices());
  const Json devices = Json::parse(device_comparison_json(rows));
  EXPECT_EQ(devices["devices"][0]["device"], "Raspberry Pi 4");
  EXPECT_EQ(devices["devices"][1]["configured_memory_bandwidth_gbps"], 25.6);
  const Json impact = Json::parse(hardware_impact_json(
      compare_summaries(summarize_hardware({{"a", 1, 8, 0, 0}}, 2.0, 4.0), some_summary())));
  EXPECT_EQ(impact["estimated_total_macs"]["after"], 128'576.0);
  EXPECT_TRUE(impact["estimated_total_macs"]["change_percent"].is_null());
}

TEST(HardwareCsv, HasTheseHeaders) {
  EXPECT_THAT(hardware_summary_csv(some_summary()),
              StartsWith("estimated_total_bytes,estimated_total_macs,achieved_bandwidth_gbps,"
                         "configured_memory_bandwidth_gbps,bandwidth_utilization,achieved_gmacs,"
                         "arithmetic_intensity_macs_per_byte,configured_peak_compute_gmacs,"
                         "roofline_knee_macs_per_byte,bound_regime,clamped\n113616,128576,"));
  EXPECT_EQ(layer_estimates_csv({{"a,\"b\"", 1, 2, 3, 4}}),
            "layer,output_elements,parameter_bytes,activation_bytes,macs\n"
            "\"a,\"\"b\"\"\",1,2,3,4\n");
  EXPECT_EQ(precision_tradeoff_csv(precision_tradeoff_table(
                {{"fp32", 0.5, 4.0, 2.0, 8.0, true, ""}, {.precision = "int8", .error = "no"}})),
            "precision,accuracy_mean,latency_ms_mean,memory_mb_mean,energy_proxy_j_mean,"
            "accepted_ratio\n"
            "fp32,0.5,4.0,2.0,8.0,1.0\n"
            "int8,,,,,0.0\n");
  EXPECT_THAT(hardware_impact_csv(compare_summaries(some_summary(), some_summary())),
              StartsWith("figure,before,after,change_percent\n"
                         "estimated_total_bytes,113616.0,113616.0,0.0\n"));
  EXPECT_THAT(device_comparison_csv(compare_devices(some_layers(), 2.0, reference_devices())),
              HasSubstr("measured with STREAM; the wire rate is 12.8\"\n"));
}

TEST(BarChart, Records180DotsPerInch) {
  const auto chunks = chunks_of(macs_png(some_layers()));
  ASSERT_GE(chunks.size(), 4u);
  EXPECT_EQ(chunks[0].name, "IHDR");
  EXPECT_EQ(chunks[1].name, "pHYs");
  EXPECT_EQ(big_endian(chunks[1].payload), 7087u);  // 180 / 0.0254 = 7086.6
  EXPECT_EQ(big_endian(chunks[1].payload.substr(4)), 7087u);
  EXPECT_EQ(chunks[1].payload.at(8), 1);  // the unit is the metre
  EXPECT_EQ(chunks.back().name, "IEND");
  for (const Chunk& chunk : chunks) EXPECT_TRUE(chunk.is_sound) << chunk.name;
}

TEST(BarChart, ClipsNothingWhateverTheNumberOfLayers) {
  for (const int count : {1, 5, 53, 200}) {
    expect_whole_picture(macs_png(many_layers(count)));
    expect_whole_picture(activation_memory_png(many_layers(count)));
  }
  EXPECT_GT(Picture(macs_png(many_layers(200))).height(), 200 * 30);  // legible, 30 pixels each
}

TEST(BarChart, ClipsNothingWhateverTheNames) {
  const std::string not_utf8 = std::string("\xff\xfe\x01\0<&\">", 8);
  expect_whole_picture(macs_png({{std::string(100'000, 'W'), 1, 1, 1, 5},
                                 {"слой/größe/卷积", 1, 1, 1, 1'000'000'000'000'000'000},
                                 {"", 1, 1, 1, 0},
                                 {not_utf8, 1, 1, 1, 7}}));
  expect_whole_picture(macs_png({{"idle", 1, 1, 1, 0}}));
  expect_whole_picture(macs_png({}));
}

TEST(BarChart, StaysWithinWhatAPngCanHold) {
  EXPECT_LT(Picture(macs_png(many_layers(5000))).height(), 32'767);
}

TEST_F(HardwareArtifacts, AreFiveFiles) {
  const auto table = precision_tradeoff_table({{"fp32", 0.5, 4.0, 2.0, 8.0, true, ""}});
  const auto paths =
      save_hardware_artifacts(folder_ / "deep", some_layers(), table, some_summary());
  std::vector<std::string> names;
  for (const auto& path : paths) {
    EXPECT_TRUE(fs::is_regular_file(path)) << path;
    names.push_back(path.filename().string());
  }
  EXPECT_THAT(names,
              ::testing::ElementsAre("layerwise_breakdown.csv", "precision_tradeoffs.csv",
                                     "hardware_summary.csv", "layerwise_activation_memory.png",
                                     "layerwise_macs.png"));
  EXPECT_EQ(content(paths[0]), layer_estimates_csv(some_layers()));
  EXPECT_EQ(content(paths[1]), precision_tradeoff_csv(table));
  EXPECT_EQ(content(paths[2]), hardware_summary_csv(some_summary()));
  EXPECT_EQ(content(paths[3]), activation_memory_png(some_layers()));
  EXPECT_EQ(content(paths[4]), macs_png(some_layers()));
}

TEST_F(HardwareArtifacts, ReplaceThoseOfAnEarlierRun) {
  save_hardware_artifacts(folder_, many_layers(9), {}, some_summary());
  const auto paths = save_hardware_artifacts(folder_, some_layers(), {}, some_summary());
  EXPECT_EQ(content(paths[0]), layer_estimates_csv(some_layers()));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 5);
}

TEST_F(HardwareArtifacts, LeaveNothingWhereAFolderCannotBe) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "file") << "x";
  for (const char* inside : {"file", "file/deeper"}) {
    EXPECT_THROW(save_hardware_artifacts(folder_ / inside, some_layers(), {}, some_summary()),
                 Error);
  }
  EXPECT_EQ(content(folder_ / "file"), "x");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

// A limit on the size of files stands for a full disk.
TEST_F(HardwareArtifacts, LeaveNoPartOfAFileOnAFullDisk) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{1000, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  EXPECT_THROW(save_hardware_artifacts(folder_, some_layers(), {}, some_summary()), Error);
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder_)) left.insert(entry.path().filename());
  const std::set<std::string> whole = {"layerwise_breakdown.csv", "precision_tradeoffs.csv",
                                       "hardware_summary.csv"};
  EXPECT_EQ(left, whole);
  EXPECT_EQ(content(folder_ / "layerwise_breakdown.csv"), layer_estimates_csv(some_layers()));
}

}  // namespace
}  // namespace assay
