#include "assay/deployment.h"

#include <gtest/gtest.h>

#include <cmath>

#include "assay/error.h"
#include "assay/zoo.h"
#include "profile/fake_program.h"

namespace assay {
namespace {

// Takes `time` nanoseconds per run, on a clock that it advances, and has one input.
class OneInput : public FakeProgram {
 public:
  OneInput(FakeClock& clock, std::int64_t time) : FakeProgram(clock, {}, {}, time) {}
  const std::vector<Value>& inputs() const override { return inputs_; }
  void set_inputs(std::span<const Tensor> tensors) override { fed.push_back(tensors[0]); }

  std::vector<Tensor> fed = {};

 private:
  std::vector<Value> inputs_ = {{"x", tensor_type(DataType::Float32)}};
};

TEST(Deployment, ComparesABatchWithItsSamplesOneByOne) {
  FakeClock clock;
  OneInput batched(clock, 4'000'000);
  OneInput single(clock, 2'500'000);
  const Tensor samples = Tensor::of_float({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const auto found = simulate_deployment(batched, single, std::span(&samples, 1),
                                         {.seconds = 0.1, .warmup_rounds = 1}, nullptr, clock);
  // A round is 4 + 4 · 2.5 = 14 ms; the eighth ends at 112 ms.
  EXPECT_EQ(found.rounds, 8u);
  EXPECT_EQ(found.batch, 4);
  EXPECT_DOUBLE_EQ(found.batch_latency_ms, 4);
  EXPECT_DOUBLE_EQ(found.batch_throughput_sps, 4 / 0.004);
  EXPECT_DOUBLE_EQ(found.stream_avg_latency_ms, 2.5);
  EXPECT_DOUBLE_EQ(found.stream_throughput_sps, 1 / 0.0025);
  EXPECT_EQ(batched.fed.size(), 1u);
  EXPECT_EQ(single.fed.size(), 9u * 4);
  EXPECT_EQ(single.fed[2], Tensor::of_float({1, 2}, {4, 5}));
}

TEST(Deployment, AMultiplierScalesEveryLatencyAndSoTheThroughputs) {
  FakeClock clock;
  OneInput batched(clock, 4'000'000);
  OneInput single(clock, 2'500'000);
  const Tensor samples = Tensor::of_float({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const auto found = simulate_deployment(batched, single, std::span(&samples, 1),
                                         {.seconds = 0.1, .latency_multiplier = 2}, nullptr, clock);
  EXPECT_EQ(found.rounds, 8u);  // real time decides when to stop
  EXPECT_EQ(found.latency_multiplier, 2);
  EXPECT_DOUBLE_EQ(found.batch_latency_ms, 4 * 2);
  EXPECT_DOUBLE_EQ(found.batch_throughput_sps, 4 / 0.008);
  EXPECT_DOUBLE_EQ(found.stream_avg_latency_ms, 2.5 * 2);
  EXPECT_DOUBLE_EQ(found.stream_throughput_sps, 1 / 0.005);
}

TEST(Deployment, RefusesAMultiplierThatIsNotAboveZero) {
  for (const double bad : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    EXPECT_THROW(simulate_deployment(zoo_model("mlp"), 1, {.latency_multiplier = bad}), Error);
  }
}

TEST(Deployment, RunsARealModel) {
  const auto found =
      simulate_deployment(zoo_model("stream_mlp"), 3, {.seconds = 0.01, .min_rounds = 2});
  EXPECT_EQ(found.batch, 3);
  EXPECT_GE(found.rounds, 2u);
  EXPECT_GT(found.batch_latency_ms, 0);
  EXPECT_NEAR(found.batch_throughput_sps * found.batch_latency_ms, 3 * 1000, 1e-6);
  EXPECT_NEAR(found.stream_throughput_sps * found.stream_avg_latency_ms, 1000, 1e-6);
}

TEST(Deployment, RefusesABatchOfNothing) {
  EXPECT_THROW(simulate_deployment(zoo_model("mlp"), 0), Error);
}

}  // namespace
}  // namespace assay
