#include "assay/metrics_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "assay/memory_budget.h"
#include "golden.h"

namespace assay {
namespace {

// Every figure is made up.
MetricsReport fixed_metrics() {
  MetricsReport report;
  report.model = {.name = "tiny.onnx",
                  .opset = 17,
                  .inputs = {{"x", tensor_type(DataType::Float32, Shape({1, 28, 28}))}},
                  .outputs = {{"y", tensor_type(DataType::Float32, Shape({1, 10}))}}};
  report.dataset = {"fashion-mnist", "/data, test", std::string(64, 'a'), 10000};
  report.batch = 64;
  report.threads = 2;
  report.power_watts = 5;
  report.latency_multiplier = 1.25;
  report.repeats = 5;
  report.metrics = {.accuracy = 0.875,
                    .accuracy_ci95_low = 0.868,
                    .accuracy_ci95_high = 0.881,
                    .latency_ms = 2.5,
                    .latency_median_ms = 2.4,
                    .latency_std_ms = 0.125,
                    .latency_p95_ms = 2.75,
                    .latency_ci95_low_ms = 2.34,
                    .latency_ci95_high_ms = 2.66,
                    .throughput_sps = 25600,
                    .memory_mb = 1.5,
                    .runtime_memory_mb = 2.25,
                    .energy_proxy_j = 0.0125,
                    .energy_note = "no meter; 5 W × latency"};
  report.violations = memory_violations(1.5, std::vector<double>{1, 2, 0.25});
  report.warnings = {"a warning"};
  return report;
}

TEST(MetricsReport, TableIsAsPinned) {
  expect_golden("evaluate.txt", metrics_table(fixed_metrics()));
}

TEST(MetricsReport, CsvIsAsPinned) {
  expect_golden("evaluate.csv", metrics_csv(fixed_metrics()));
}

TEST(MetricsReport, JsonIsAsPinnedAndHasTheNamesOfTheMetrics) {
  const std::string text = metrics_json(fixed_metrics());
  expect_golden("evaluate.json", text);
  const auto json = nlohmann::json::parse(text);
  for (const char* key :
       {"accuracy", "accuracy_ci95_low", "accuracy_ci95_high", "latency_ms", "latency_median_ms",
        "latency_std_ms", "latency_p95_ms", "latency_ci95_low_ms", "latency_ci95_high_ms",
        "throughput_sps", "memory_mb", "runtime_memory_mb", "energy_proxy_j", "energy_measured_j",
        "energy_note"}) {
    EXPECT_TRUE(json.contains(key)) << key;
  }
  EXPECT_TRUE(json["energy_measured_j"].is_null());
  EXPECT_EQ(json["violates_1.0mb"], true);
  EXPECT_EQ(json["violates_2.0mb"], false);
  EXPECT_EQ(json["violates_0.25mb"], true);
}

}  // namespace
}  // namespace assay
