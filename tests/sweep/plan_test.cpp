#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "assay/sweep.h"
#include "assay/zoo.h"
#include "support/error_message.h"
#include "support/scratch_folder.h"
#include "sweep/tiny_sweep.h"

namespace assay {
namespace {

using testing::HasSubstr;

std::set<std::string> ids_of(const SweepPlan& plan, SweepTaskKind kind) {
  std::set<std::string> ids;
  for (const SweepTask& task : plan.tasks) {
    if (task.kind == kind) ids.insert(task.id);
  }
  return ids;
}

SweepConfig grid() {
  SweepConfig config = tiny_sweep("unused");
  config.pruning_levels = {0.0, 0.5};
  config.precisions = {"fp32", "fp16", "int8"};
  return config;
}

TEST(SweepPlan, MakesSharedModelsOnce) {
  SweepConfig config = grid();
  config.batch_sizes = {1, 8};
  config.threads = {1, 2};
  const SweepPlan plan = plan_sweep(config);
  EXPECT_EQ(ids_of(plan, SweepTaskKind::Train).size(), 1u);
  EXPECT_EQ(ids_of(plan, SweepTaskKind::Prune).size(), 1u);     // one level above 0
  EXPECT_EQ(ids_of(plan, SweepTaskKind::Quantize).size(), 2u);  // of two levels
  EXPECT_EQ(ids_of(plan, SweepTaskKind::Measure).size(), 2u * 3 * 2 * 2);
  EXPECT_EQ(ids_of(plan, SweepTaskKind::Deploy).size(), 1u);
}

TEST(SweepPlan, ListsMakersBeforeTheirReaders) {
  std::set<std::string> seen;
  for (const SweepTask& task : plan_sweep(grid()).tasks) {
    EXPECT_TRUE(task.input.empty() || seen.contains(task.input)) << describe(task);
    seen.insert(task.id);
  }
}

TEST(SweepPlan, TheBaselineIsMeasuredEvenIfItIsNotStudied) {
  SweepConfig config = grid();
  config.pruning_levels = {0.5};
  config.precisions = {"int8"};
  const SweepPlan plan = plan_sweep(config);
  EXPECT_EQ(ids_of(plan, SweepTaskKind::Measure).size(), 2u);
}

TEST(SweepPlan, OnlyWhatDependsOnAChangeIsNew) {
  const SweepPlan plan = plan_sweep(grid());
  SweepConfig config = grid();
  config.active_memory_budget_mb = 0.001;
  config.memory_budgets_mb = {7};
  EXPECT_EQ(ids_of(plan_sweep(config), SweepTaskKind::Measure),
            ids_of(plan, SweepTaskKind::Measure));
  config.calibration_batches = 1;
  const SweepPlan other = plan_sweep(config);
  EXPECT_EQ(ids_of(other, SweepTaskKind::Prune), ids_of(plan, SweepTaskKind::Prune));
  EXPECT_NE(ids_of(other, SweepTaskKind::Quantize), ids_of(plan, SweepTaskKind::Quantize));
  config.learning_rate = 0.5;
  EXPECT_NE(ids_of(plan_sweep(config), SweepTaskKind::Train), ids_of(plan, SweepTaskKind::Train));
}

TEST(SweepPlan, SeedsAreRunsOfTheirOwn) {
  SweepConfig config = grid();
  config.seeds = {1, 2};
  const SweepPlan plan = plan_sweep(config);
  EXPECT_EQ(ids_of(plan, SweepTaskKind::Train).size(), 2u);
  EXPECT_EQ(ids_of(plan, SweepTaskKind::Measure).size(), 2u * 6);
  EXPECT_EQ(plan.data_sha256.size(), 2u);
}

TEST(SweepPlan, FilesGiveBackWhatWasWritten) {
  const ScratchFolder folder;
  const SweepPlan plan = plan_sweep(grid());
  write_plan(folder.path(), plan);
  const SweepPlan read = read_plan(folder.path());
  ASSERT_EQ(read.tasks.size(), plan.tasks.size());
  for (std::size_t i = 0; i < plan.tasks.size(); ++i) {
    EXPECT_EQ(read.tasks[i].id, plan.tasks[i].id);
    EXPECT_EQ(describe(read.tasks[i]), describe(plan.tasks[i]));
    EXPECT_EQ(read.tasks[i].baseline, plan.tasks[i].baseline);
  }
  EXPECT_EQ(read.data_sha256, plan.data_sha256);
}

TEST(SweepPlan, RefusesDataThatIsNotThere) {
  SweepConfig config = grid();
  config.train_subset = 1'000'000;
  EXPECT_THAT(error_message([&] { plan_sweep(config); }), HasSubstr("train_subset: 1000000"));
  config = grid();
  config.model = "small_cn";
  EXPECT_THAT(error_message([&] { plan_sweep(config); }), HasSubstr("small_cnn"));
  config.model = "missing.onnx";
  EXPECT_THAT(error_message([&] { plan_sweep(config); }), HasSubstr("missing.onnx"));
}

TEST(Redrawn, HasOtherWeightsInTheSameRange) {
  const Graph network = zoo_model("small_cnn");
  const Graph one = redrawn(network, 1);
  const auto& weight = one.initializers()[0].tensor;
  EXPECT_EQ(weight.dims(), network.initializers()[0].tensor.dims());
  EXPECT_NE(weight.to_vector<float>(), network.initializers()[0].tensor.to_vector<float>());
  EXPECT_EQ(weight.to_vector<float>(),
            redrawn(network, 1).initializers()[0].tensor.to_vector<float>());
  EXPECT_NE(weight.to_vector<float>(),
            redrawn(network, 2).initializers()[0].tensor.to_vector<float>());
}

}  // namespace
}  // namespace assay
