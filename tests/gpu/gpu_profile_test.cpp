// A profile of the CUDA engine, on the fake GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "assay/metrics.h"
#include "assay/profile.h"
#include "assay/profile_report.h"
#include "assay/training_data.h"
#include "assay/training_profile.h"
#include "assay/zoo.h"
#include "gpu/fake_device.h"
#include "support/error_message.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class GpuProfile : public testing::Test {
 protected:
  void SetUp() override { fake_device(); }

  static ProfileOptions options() {
    ProfileOptions options{.timing = {.fixed_warmup = 1, .fixed_samples = 7}, .judge = false};
    options.run.program.engine = "cuda";
    return options;
  }
};

double sum_of_parts(const Profile& profile) {
  double sum = profile.between_steps_ms;
  for (const ProfileStep& step : profile.steps) sum += step.time_ms;
  return sum;
}

TEST_F(GpuProfile, LaunchingAndStepsSumUpToTheLatency) {
  const Profile profile = profile_model(zoo_model("mlp"), "mlp", options());
  EXPECT_TRUE(profile.are_steps_timed_apart);
  EXPECT_NEAR(sum_of_parts(profile), profile.run_ms(), 1e-9);
  double mean = profile.between_steps_mean_ms;
  for (const ProfileStep& step : profile.steps) mean += step.mean_ms;
  EXPECT_NEAR(mean, profile.latency.latency.mean_ms, 1e-9);
}

TEST_F(GpuProfile, SoDoThePartsOfATrainingStep) {
  const TrainingProfile profile = profile_training(zoo_model("mlp"), "mlp", {.profile = options()});
  EXPECT_TRUE(profile.step.are_steps_timed_apart);
  EXPECT_NEAR(sum_of_parts(profile.step), profile.step.run_ms(), 1e-9);
}

TEST_F(GpuProfile, CopiesAndTheStateOfTheGpuAreTold) {
  const Profile profile = profile_model(zoo_model("mlp"), "mlp", options());
  ASSERT_TRUE(profile.copies);
  EXPECT_GT(profile.copies->in_ms, 0);
  EXPECT_GT(profile.copies->out_ms, 0);
  const std::string json = profile_json(profile);
  for (const char* key : {"copy_in_ms", "copy_out_ms", "steps_timed_apart", "\"clock_mhz\":1755"})
    EXPECT_THAT(json, HasSubstr(key));
  const std::string table = profile_table(profile);
  EXPECT_THAT(table, HasSubstr("batch 1, the GPU, cuda engine"));
  EXPECT_THAT(table, HasSubstr("1755 of 1980 MHz"));
  EXPECT_THAT(table, Not(HasSubstr("thread")));
}

TEST_F(GpuProfile, MemoryIsWhatIsAllocatedThere) {
  const Profile profile = profile_model(zoo_model("mlp"), "mlp", options());
  const ProgramMemory& memory = profile.memory.program;
  EXPECT_EQ(profile.memory.peak_bytes, memory.weight_bytes + memory.arena_bytes);
  EXPECT_EQ(memory.device_growth_bytes, memory.weight_bytes + memory.arena_bytes);
}

TEST_F(GpuProfile, EnergyIsThatOfTheGpu) {
  ProfileOptions metered = options();
  metered.measure_energy = true;
  const Profile profile = profile_model(zoo_model("mlp"), "mlp", metered);
  EXPECT_TRUE(profile.energy.gross_j_per_run) << profile.energy.note;
}

TEST_F(GpuProfile, WithoutMemoryNothingStaysAllocated) {
  const std::int64_t before = fake_live_bytes();
  const FakeSetting small("FAKE_CUDA_MEMORY", std::to_string(before + 4096));
  const std::string message = error_message(
      ErrorKind::BadInput, [] { profile_model(zoo_model("resnet18"), "resnet18", options()); });
  EXPECT_THAT(message, HasSubstr("MB on the GPU"));
  EXPECT_EQ(fake_live_bytes(), before);
}

struct CancelsAfter : Progress {
  mutable int questions = 0;
  explicit CancelsAfter(int count) : questions(count) {}
  bool cancelled() const override { return --questions < 0; }
};

TEST_F(GpuProfile, InterruptedWhileCompilingItLeavesNothing) {
  const std::int64_t before = fake_live_bytes();
  CancelsAfter at_once(1);
  error_message(ErrorKind::Cancelled,
                [&] { profile_model(zoo_model("mlp"), "mlp", options(), &at_once); });
  EXPECT_EQ(fake_live_bytes(), before);
}

TEST_F(GpuProfile, InterruptedWhileItRunsItStillTellsWhereTimeGoes) {
  ProfileOptions longer = options();
  longer.timing = {.min_seconds = 60, .max_seconds = 60, .fixed_warmup = 1};
  CancelsAfter later(60);
  const Profile profile = profile_model(zoo_model("mlp"), "mlp", longer, &later);
  EXPECT_TRUE(profile.was_interrupted());
  EXPECT_FALSE(profile.steps.empty());
  EXPECT_NEAR(sum_of_parts(profile), profile.run_ms(), 1e-9);
}

Loader some_digits() {
  const TrainingData data = load_training_data("synthetic", {.validation_samples = 64});
  return Loader(data.validation, {.batch_size = 16, .shuffle = false});
}

TEST_F(GpuProfile, MetricsOfADeviceAreThoseOfItsEngine) {
  const Graph model = zoo_model("small_cnn_gap");
  const Loader loader = some_digits();
  const double on_gpu = evaluate_accuracy(model, loader, "cuda");
  EXPECT_EQ(on_gpu, evaluate_accuracy(model, loader, "cpu"));
  EXPECT_EQ(on_gpu, evaluate_accuracy(model, loader, "cuda:0"));
  const PerfMetrics metrics =
      collect_metrics(model, loader, "cuda", 5, "fp32", 1, 2, {.num_runs = 2, .warmup = 1});
  EXPECT_EQ(metrics.accuracy, on_gpu);
  EXPECT_THAT(metrics.energy_note, HasSubstr("NVML"));
}

TEST_F(GpuProfile, AnEngineOfAnotherDeviceIsRefused) {
  MetricsOptions on_gpu;
  on_gpu.program.engine = "cuda";
  EXPECT_EQ(error_message(ErrorKind::Usage,
                          [&] {
                            collect_metrics(zoo_model("small_cnn_gap"), some_digits(), "cpu", 5,
                                            "fp32", 1, 1, on_gpu);
                          }),
            "engine 'cuda' does not run on device 'cpu': name one of the two");
  EXPECT_EQ(error_message(ErrorKind::Usage,
                          [&] { evaluate_accuracy(zoo_model("small_cnn"), some_digits(), "mps"); }),
            "there is no device 'mps': choose from cpu, cuda");
}

}  // namespace
}  // namespace assay
