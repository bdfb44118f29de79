#include "assay/optimize_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "golden.h"
#include "picture.h"

namespace assay {
namespace {

OptimizeTrial made_up(const VariantRecipe& recipe, double latency_ms, double agreement) {
  OptimizeTrial trial{.recipe = recipe};
  trial.cost = VariantCost{.memory_mb = 2 * latency_ms,
                           .runtime_memory_mb = 3 * latency_ms,
                           .parameters = 1000,
                           .macs = 1'500'000};
  trial.cost->latency = {
      .median_ms = latency_ms, .ci95_low_ms = latency_ms - 0.5, .ci95_high_ms = latency_ms + 0.5};
  trial.quality = VariantQuality{.agreement = agreement, .decisions = 64, .samples = 64};
  if (agreement < 1) trial.quality->snr_db = 31.5;
  trial.loss_points = 100 * (1 - agreement);
  return trial;
}

// Every figure is made up.
OptimizeReport fixed_report() {
  OptimizeReport report;
  report.model = {.name = "tiny.onnx",
                  .opset = 17,
                  .inputs = {{"x", tensor_type(DataType::Float32, Shape({1, 28, 28}))}},
                  .outputs = {{"y", tensor_type(DataType::Float32, Shape({1, 10}))}}};
  report.threads = 2;
  report.goal = {.target_ms = 5, .max_loss = 5};
  report.result.original = made_up({}, 10, 1);
  report.result.trail = {made_up({0, VariantPrecision::BFloat16}, 6, 1),
                         {.recipe = {0, VariantPrecision::Int8}, .error = "no range"},
                         made_up({0.25, VariantPrecision::BFloat16}, 4, 0.96875)};
  report.result.trail[2].meets_target = true;
  report.result.trail[2].notes = {"fc is not pruned: 'y' is an output of the model"};
  report.result.chosen = 2;
  report.result.groups = {{.name = "conv1", .layers = {"conv1"}, .channels = 16, .kept = 12}};
  report.met = true;
  report.written = {"small.onnx", std::string(64, 'b'), 4096, "small.onnx.json"};
  report.judged_on = "64 samples";
  report.calibrated_on = "32 samples";
  report.choices = {{"criterion", "l1"}};
  report.scales = {{.tensor = "w", .axis = 0, .scales = {0.5, 0.25}, .zero_points = {0, 0}}};
  report.warnings = {"a warning"};
  return report;
}

std::vector<LayerSensitivity> two_layers() {
  return {{"conv1", "Conv", 40, 1, 0.001}, {"conv2", "Conv", 20, 0.75, 0.1}};
}

TEST(OptimizeReport, TableIsAsPinned) {
  expect_golden("optimize.txt", optimize_table(fixed_report()));
}

// What the last column of the versions' rows says, the original's first.
std::vector<std::string> outcomes(const OptimizeReport& report) {
  std::vector<std::string> result;
  std::istringstream lines(optimize_table(report));
  for (std::string line; std::getline(lines, line);) {
    const bool is_version = line.starts_with("unchanged") || line.starts_with("fp16") ||
                            line.starts_with("int8") || line.starts_with("pruned");
    if (is_version) result.push_back(line.substr(line.rfind("  ") + 2));
  }
  return result;
}

TEST(OptimizeReport, ARowSaysWhatTheSearchMadeOfTheVersion) {
  OptimizeReport report = fixed_report();
  report.goal = {.target_ms = 5, .max_loss = 5, .margin = 0.9};
  report.result.trail = {made_up({0, VariantPrecision::Float16}, 4.8, 1),
                         made_up({0, VariantPrecision::Int8}, 4.2, 1), made_up({0.3}, 4, 0.9),
                         made_up({0.4}, 3, 1), made_up({0.2}, 3, 1)};
  for (OptimizeTrial& trial : report.result.trail) trial.meets_target = true;
  report.result.trail[2].is_within_loss = false;
  report.result.trail[3].loss_points.reset();
  report.result.chosen = 4;
  report.unconfirmed = {{0, VariantPrecision::Int8}};
  EXPECT_EQ(outcomes(report), (std::vector<std::string>{"too slow", "too close", "unconfirmed",
                                                        "too lossy", "not judged", "met"}));
}

TEST(OptimizeReport, CsvIsAsPinned) {
  expect_golden("optimize.csv", optimize_csv(fixed_report()));
}

TEST(OptimizeReport, JsonIsAsPinned) {
  expect_golden("optimize.json", optimize_json(fixed_report()));
}

TEST(OptimizeReport, TheRecordHasScalesAndPrunedGroupsToo) {
  const auto record = nlohmann::json::parse(optimize_record_json(fixed_report()));
  EXPECT_EQ(record["schema"], "assay.optimized_model/1");
  EXPECT_EQ(record["quantization"][0]["scales"], (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(record["pruning"][0]["kept"], 12);
}

TEST(OptimizeReport, AnOriginalThatIsNotFiniteHasNoSignalToNoise) {
  OptimizeReport report = fixed_report();
  report.result.original.quality->is_meaningful = false;
  EXPECT_EQ(optimize_table(report).find("equal"), optimize_table(report).rfind("equal"));
}

TEST(SensitivityReport, TheWorstLayerComesFirst) {
  const std::string table = sensitivity_table(two_layers());
  EXPECT_LT(table.find("conv2"), table.find("conv1"));
  EXPECT_NE(table.find("10.00 %"), std::string::npos);  // 20 dB are a tenth
  EXPECT_EQ(sensitivity_csv(two_layers()).substr(0, 9), "layer,op,");
}

TEST(SensitivityReport, ThePictureIsWholeWithFewAndWithManyLayers) {
  expect_whole_picture(sensitivity_png(two_layers()));
  expect_whole_picture(sensitivity_png(
      std::vector<LayerSensitivity>(1000, {"a/layer/with/a/long/name", "Conv", 30, 1, 0.1})));
}

}  // namespace
}  // namespace assay
