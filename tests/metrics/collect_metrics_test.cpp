#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assay/error.h"
#include "assay/memory.h"
#include "assay/memory_budget.h"
#include "assay/metrics.h"
#include "assay/zoo.h"
#include "support/error_message.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

Loader images(std::int64_t batch_size) {
  return Loader(load_dataset("synthetic", {.split = Split::Test, .size = 20}),
                {.batch_size = batch_size});
}

MetricsOptions quick() {
  return {.num_runs = 2,
          .warmup = 1,
          .program = {.optimize_for = OptimizeFor::Memory, .cpu = {.threads = 1}}};
}

PerfMetrics metrics_of(double multiplier) {
  return collect_metrics(zoo_model("small_cnn"), images(8), "cpu", 5, "fp32", multiplier, 3,
                         quick());
}

TEST(Metrics, AreConsistentWithEachOther) {
  const PerfMetrics seen = metrics_of(1);
  EXPECT_GE(seen.accuracy, 0);
  EXPECT_LE(seen.accuracy_ci95_low, seen.accuracy);
  EXPECT_GE(seen.accuracy_ci95_high, seen.accuracy);
  EXPECT_GT(seen.latency_ms, 0);
  EXPECT_LE(seen.latency_ci95_low_ms, seen.latency_ms);
  EXPECT_GE(seen.latency_ci95_high_ms, seen.latency_ms);
  EXPECT_NEAR(seen.throughput_sps, 8 / (seen.latency_ms * 1e-3), 1e-6 * seen.throughput_sps);
  EXPECT_NEAR(seen.energy_proxy_j, 5 * seen.latency_ms * 1e-3, 1e-12);
  EXPECT_NE(seen.energy_note, "");
  EXPECT_DOUBLE_EQ(seen.memory_mb, model_memory_mb(zoo_model("small_cnn")));
  EXPECT_GT(seen.runtime_memory_mb, seen.memory_mb);
}

TEST(Metrics, MultiplierScalesLatencyThroughputAndEnergy) {
  const PerfMetrics seen = metrics_of(1000);
  EXPECT_GT(seen.latency_ms, 10);  // a thousand times some tenth of a millisecond or more
  EXPECT_NEAR(seen.throughput_sps, 8 / (seen.latency_ms * 1e-3), 1e-6 * seen.throughput_sps);
  EXPECT_NEAR(seen.energy_proxy_j, 5 * seen.latency_ms * 1e-3, 1e-9);
}

std::string refused(const char* device, double watts, const char* precision, double multiplier) {
  return error_message(ErrorKind::Usage, [&] {
    collect_metrics(zoo_model("small_cnn"), images(8), device, watts, precision, multiplier);
  });
}

TEST(Metrics, ArgumentsAreCheckedFirst) {
  EXPECT_THAT(refused("tpu", 5, "fp32", 1), HasSubstr("'tpu'"));
  EXPECT_THAT(refused("cpu", 5, "int8", 1), HasSubstr("needs a model that is quantised already"));
  EXPECT_THAT(refused("cpu", 5, "fp8", 1), HasSubstr("there is no precision 'fp8'"));
  EXPECT_THAT(refused("cpu", 0, "fp32", 1), HasSubstr("power in watts is 0"));
  EXPECT_THAT(refused("cpu", 5, "fp32", -2), HasSubstr("latency multiplier is -2"));
}

}  // namespace
}  // namespace assay
