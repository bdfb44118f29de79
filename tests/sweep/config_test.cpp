#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assay/sweep_config_file.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kDocumented = R"(seed: 7
dataloader_seed: 7
num_workers: 2
benchmark_repeats: 5
benchmark_trials: 3
benchmark_warmup: 3
memory_bandwidth_gbps: 12.8
device: cpu
quantization_backend: fbgemm
fine_tune_epochs: 0
pareto_use_ci: false
dataset: fashion-mnist
batch_size: 128
epochs: 2
learning_rate: 0.001
train_subset: 12000
val_subset: 3000
power_watts: 5.0
pruning_levels: [0.0, 0.25, 0.5, 0.7]
precisions: [fp32, fp16, int8]
calibration_batches: 8
memory_budgets_mb: [1.0, 2.0, 4.0]
active_memory_budget_mb: 2.0
cpu_frequency_scale: 0.7
output_dir: outputs
peak_compute_gmacs: 64.0
model: SmallCNN
)";

std::vector<std::string> problems_of(const std::string& yaml) {
  try {
    parse_sweep_config(yaml, "c.yaml");
  } catch (const SweepConfigError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::BadInput);
    return error.problems();
  }
  return {};
}

TEST(SweepConfig, ReadsTheDocumentsOwnFile) {
  const SweepConfig config = parse_sweep_config(kDocumented, "c.yaml");
  EXPECT_EQ(config.seed, 7u);
  EXPECT_EQ(config.dataloader_seed, 7u);
  EXPECT_EQ(config.memory_bandwidth_gbps, 12.8);
  EXPECT_EQ(config.peak_compute_gmacs, 64.0);
  EXPECT_THAT(config.pruning_levels, ElementsAre(0.0, 0.25, 0.5, 0.7));
  EXPECT_THAT(config.precisions, ElementsAre("fp32", "fp16", "int8"));
  EXPECT_DOUBLE_EQ(config.latency_multiplier(), 1 / 0.7);
  EXPECT_EQ(config.quantization_backend, "fbgemm");
}

TEST(SweepConfig, PrintsWhatItReads) {
  SweepConfig config = parse_sweep_config(kDocumented, "c.yaml");
  config.model = "a model: with \"quotes\".onnx";
  config.seeds = {1, 2};
  config.threads = {1, 2};
  config.latency_budget_ms = 3;
  const std::string yaml = sweep_config_yaml(config);
  EXPECT_EQ(sweep_config_yaml(parse_sweep_config(yaml, "c.yaml")), yaml);
}

TEST(SweepConfig, TemplateIsTheDefaultAndExplainsEveryKey) {
  const std::string yaml = sweep_config_template();
  EXPECT_EQ(sweep_config_yaml(parse_sweep_config(yaml, "t")), sweep_config_yaml(SweepConfig()));
  EXPECT_THAT(yaml, HasSubstr("# percentage points"));
}

TEST(SweepConfig, EmptyFileIsAllDefaults) {
  EXPECT_EQ(sweep_config_yaml(parse_sweep_config("", "c")), sweep_config_yaml(SweepConfig()));
}

TEST(SweepConfig, ListsAllProblemsWithLineKeyValueAndRange) {
  const auto problems = problems_of(
      "epochs: two\npruning_levels: [0.5, 1.0]\nprecision: [fp32]\nbatch_size: 0\n"
      "device: mps\npower_watts: .nan\nmodel: [a, b]\n");
  ASSERT_EQ(problems.size(), 7u);
  EXPECT_EQ(problems[0], "c.yaml, line 1: epochs: two: expected a whole number from 0 to 1000000");
  EXPECT_THAT(problems[1], HasSubstr("line 2: pruning_levels: [0.5, 1.0]: expected a list, each a "
                                     "number from 0 to below 1"));
  EXPECT_THAT(problems[2], HasSubstr("there is no key 'precision'; did you mean 'precisions'?"));
  EXPECT_THAT(problems[3], HasSubstr("batch_size: 0: expected a whole number from 1"));
  EXPECT_THAT(problems[4], HasSubstr("device: mps: expected one of cpu, cuda"));
  EXPECT_THAT(problems[5], HasSubstr("power_watts: .nan: expected a number above 0"));
  EXPECT_THAT(problems[6], HasSubstr("line 7: model: [a, b]"));
}

TEST(SweepConfig, RefusesWhatIsNotAConfiguration) {
  EXPECT_THAT(problems_of("just a sentence").at(0), HasSubstr("key: value"));
  EXPECT_THAT(problems_of("a: [1, 2").at(0), HasSubstr("line 1: not YAML"));
  EXPECT_THAT(problems_of("seed: 1\nseed: 2\n").at(0), HasSubstr("given twice, first in line 1"));
  EXPECT_THAT(problems_of("precisions: [fp32, fp32]").at(0), HasSubstr("none twice"));
  EXPECT_THAT(problems_of("precisions: []").at(0), HasSubstr("precisions: []"));
  EXPECT_THAT(problems_of("seed: {a: 1}").at(0), HasSubstr("expected a whole number"));
  EXPECT_THROW(parse_sweep_config(std::string(2 << 20, ' '), "c"), Error);
}

TEST(SweepConfig, BatchesMustFitTheValidationData) {
  EXPECT_THAT(problems_of("val_subset: 64\nbatch_size: 128\n").at(0),
              HasSubstr("line 2: batch_size: 128: larger than val_subset, 64"));
  EXPECT_THAT(problems_of("val_subset: 64\nbatch_sizes: [1, 100]\nbatch_size: 32").at(0),
              HasSubstr("batch_sizes: 100"));
}

}  // namespace
}  // namespace assay
