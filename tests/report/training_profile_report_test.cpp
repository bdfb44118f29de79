#include "assay/training_profile_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fixed_profile.h"
#include "golden.h"
#include "picture.h"

namespace assay {
namespace {

// Every figure is made up.
TrainingProfile fixed_training() {
  TrainingProfile profile{.step = fixed_profile(),
                          .optimizer = {.kind = OptimizerKind::Adam},
                          .loss = Loss::CrossEntropy,
                          .parameters = 12345,
                          .model_flops = 1'000'000,
                          .loss_flops = 10'000};
  profile.phases = {{Phase::Forward, 500'000, 1'010'000, 800'000, 0.6, 0.3},
                    {Phase::Backward, 900'000, 1'830'000, 1'500'000, 1.2, 0.6},
                    {Phase::Update, 0, 148'140, 148'140, 0.1, 0.05}};
  profile.layers = {
      {"conv", "Conv", 12000, {900'000, 0.5}, {1'700'000, 1.0}, {144'000, 0.06}, 0.78},
      {"relu", "Relu", 0, {10'000, {}}, {10'000, 0.1}, {}, 0.05},
      {"(loss and the rest)", "", 0, {10'000, 0.1}, {0, 0.1}, {}, 0.1}};
  const std::size_t steps = profile.step.steps.size();
  for (std::size_t i = 0; i < steps; ++i) {
    profile.step_phases.push_back(profile.phases[i * profile.phases.size() / steps].phase);
    const auto at = static_cast<std::int64_t>(i + 1);
    profile.memory.by_step.push_back({49380, 0, 98760, 1536, 4096 * at, 2048, 512, 1024 * at, 64});
  }
  profile.memory.peak_step = steps - 1;
  profile.memory.arena_bytes = 262144;
  profile.memory.planned = {2, OptimizerKind::Adam, 49380, 12288, 49380, 98760, 200000};
  return profile;
}

TrainingReportOptions fixed_options() {
  return {
      .batches = {{1, OptimizerKind::Adam, 49380, 6144, 49380, 98760, 190000},
                  {2, OptimizerKind::Adam, 49380, 12288, 49380, 98760, 200000}},
      .budget_bytes = 1 << 20,
      .largest = PlannedTraining{80, OptimizerKind::Adam, 49380, 500000, 49380, 98760, 1000000}};
}

TEST(TrainingProfileReport, TableIsAsPinned) {
  expect_golden("training_profile.txt", training_table(fixed_training(), fixed_options()));
}
TEST(TrainingProfileReport, JsonIsAsPinned) {
  const std::string text = training_json(fixed_training(), fixed_options());
  expect_golden("training_profile.json", text);
  const auto json = nlohmann::json::parse(text);
  for (const char* key :
       {"forward_flops", "loss_flops", "forward_latency_ms", "forward_memory_mb", "backward_flops",
        "backward_flops_rule", "backward_latency_ms", "gradient_memory_mb", "total_flops",
        "total_latency_ms", "total_memory_mb", "total_gflops_per_second",
        "optimizer_memory_estimates", "memory_efficiency", "bottleneck"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
}
TEST(TrainingProfileReport, CsvIsAsPinned) {
  expect_golden("training_profile.csv", training_csv(fixed_training()));
}
TEST(TrainingProfileReport, LinesFitATerminal) {
  std::istringstream lines(training_table(fixed_training(), fixed_options()));
  for (std::string line; std::getline(lines, line);) {
    std::size_t width = 0;
    for (const char c : line) width += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
    EXPECT_LE(width, 80u) << line;
  }
}
TEST(TrainingProfileReport, PictureIsAPicture) {
  EXPECT_TRUE(training_memory_png(fixed_training()).starts_with("\x89PNG"));
  const std::string svg = training_memory_svg(fixed_training());
  EXPECT_NE(svg.find("kept activations"), std::string::npos);
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace assay
