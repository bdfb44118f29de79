#include "assay/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "assay/error.h"
#include "support/error_message.h"
#include "support/scratch_folder.h"
#include "sweep/journal.h"
#include "sweep/tiny_sweep.h"

namespace assay {
namespace {

using testing::HasSubstr;

// Cancels once so many tasks were reported.
class CancelAfter : public Progress {
 public:
  explicit CancelAfter(std::size_t reports) : left_(reports) {}
  void report(double, std::string_view) override { left_ -= left_ > 0 ? 1 : 0; }
  bool cancelled() const override { return left_ == 0; }

 private:
  std::size_t left_ = 0;
};

class Sweep : public InScratchFolder {
 protected:
  SweepConfig config_ = tiny_sweep(folder_.string());

  std::size_t lines_in_journal() const {
    std::size_t lines = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "journal")) {
      lines += sweep::read_journal(entry.path()).records.size();
    }
    return lines;
  }
};

TEST_F(Sweep, MeasuresEveryVersionAndDecides) {
  const SweepResult result = run_sweep(config_);
  EXPECT_EQ(result.outcome.failed, 0u);
  EXPECT_EQ(result.outcome.done_now, 5u);  // four versions and the deployment
  ASSERT_EQ(result.merged.runs.size(), 1u);
  const SweepRun& run = result.merged.runs[0];
  ASSERT_EQ(run.rows.size(), 4u);
  for (const SweepRow& row : run.rows) {
    ASSERT_TRUE(row.metrics) << describe(row) << ": " << row.error;
    EXPECT_GT(row.metrics->latency_ms, 0);
    EXPECT_TRUE(row.accepted);
    EXPECT_EQ(row.violations.size(), 3u);
  }
  EXPECT_LT(run.rows[3].metrics->memory_mb, run.rows[0].metrics->memory_mb / 3);
  EXPECT_TRUE(run.decision.recommended);
  EXPECT_TRUE(run.deployment);
  EXPECT_TRUE(run.hardware);
  EXPECT_EQ(run.quantization.size(), 2u);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "recommended.onnx"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "summary.json"));
}

TEST_F(Sweep, DoesNothingTwice) {
  run_sweep(config_);
  const std::size_t lines = lines_in_journal();
  const SweepResult again = run_sweep(config_);
  EXPECT_EQ(again.outcome.done_now, 0u);
  EXPECT_EQ(again.outcome.done_before, 5u);
  EXPECT_EQ(lines_in_journal(), lines);
}

TEST_F(Sweep, AnotherBudgetMeasuresNothingAgain) {
  run_sweep(config_);
  config_.active_memory_budget_mb = 1e-6;
  const SweepResult again = run_sweep(config_);
  EXPECT_EQ(again.outcome.done_now, 0u);
  EXPECT_FALSE(again.merged.runs[0].rows[0].accepted);
  EXPECT_FALSE(again.merged.runs[0].decision.recommended);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "recommended.onnx"));
}

TEST_F(Sweep, AnotherPrecisionMeasuresOnlyThat) {
  run_sweep(config_);
  config_.precisions = {"fp32", "int8", "bf16"};
  EXPECT_EQ(run_sweep(config_).outcome.done_now, 2u);
}

TEST_F(Sweep, ALostModelIsMadeAgain) {
  run_sweep(config_);
  std::filesystem::remove_all(folder_ / "models");
  std::filesystem::remove_all(folder_ / "journal");
  EXPECT_EQ(run_sweep(config_).outcome.failed, 0u);
}

TEST_F(Sweep, GoesOnAfterItWasCancelled) {
  CancelAfter progress(3);
  const SweepResult first = run_sweep(config_, {}, &progress);
  EXPECT_TRUE(first.outcome.interrupted);
  EXPECT_LT(first.outcome.done_now, 5u);
  const SweepResult second = run_sweep(config_);
  EXPECT_EQ(second.outcome.done_before, first.outcome.done_now);
  EXPECT_EQ(second.outcome.done_before + second.outcome.done_now, 5u);
}

TEST_F(Sweep, AVersionThatFailsIsARow) {
  config_.task_timeout_s = 1e-6;
  const SweepResult result = run_sweep(config_);
  EXPECT_EQ(result.outcome.failed, 5u);
  ASSERT_EQ(result.merged.runs.size(), 1u);
  EXPECT_THAT(result.merged.runs[0].rows[0].error, HasSubstr("task_timeout_s"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "sweep_errors.csv"));
  config_.task_timeout_s = 600;
  EXPECT_EQ(run_sweep(config_).outcome.done_now, 0u);  // unless asked for
  const SweepResult retried = run_sweep(config_, {.retries_errors = true});
  EXPECT_EQ(retried.outcome.failed, 0u);
  EXPECT_EQ(retried.merged.duplicates, 5u);
  EXPECT_TRUE(retried.merged.runs[0].rows[0].error.empty());
  EXPECT_FALSE(std::filesystem::exists(folder_ / "sweep_errors.csv"));
}

TEST_F(Sweep, ShardsTogetherDoWhatOneWorkerDoes) {
  write_plan(folder_, plan_sweep(config_));
  std::size_t done = 0;
  for (std::size_t shard = 0; shard < 3; ++shard) {
    done += work_on_sweep(folder_, {.shard = shard, .shards = 3}).done_now;
  }
  EXPECT_EQ(done, 5u);
  const MergedSweep merged = merge_sweep(folder_);
  EXPECT_TRUE(merged.missing.empty());
  ASSERT_EQ(merged.runs.size(), 1u);
  EXPECT_EQ(merged.runs[0].rows.size(), 4u);
}

TEST_F(Sweep, MergingNamesWhatIsMissing) {
  write_plan(folder_, plan_sweep(config_));
  work_on_sweep(folder_, {.shard = 1, .shards = 2});
  const MergedSweep merged = merge_sweep(folder_);
  EXPECT_EQ(merged.missing.size(), 3u);
  write_sweep_files(folder_, merged);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "sweep_results.csv"));
}

TEST_F(Sweep, RowsOfUnlikeMachinesStayApart) {
  const SweepPlan plan = plan_sweep(config_);
  write_plan(folder_, plan);
  work_on_sweep(folder_, {.shard = 0, .shards = 2});
  const auto file = folder_ / "journal" / "shard-0-of-2.jsonl";
  sweep::JournalContent content = sweep::read_journal(file);
  std::filesystem::remove(file);
  {
    sweep::Journal other(folder_ / "journal" / "board.jsonl");
    for (auto& record : content.records) {
      record["host"]["fingerprint"] = "another";
      other.append(record);
    }
  }
  work_on_sweep(folder_, {.shard = 1, .shards = 2});
  const MergedSweep merged = merge_sweep(folder_);
  ASSERT_EQ(merged.runs.size(), 2u);
  EXPECT_EQ(merged.runs[0].rows.size() + merged.runs[1].rows.size(), 4u);
  write_sweep_files(folder_, merged);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "machines"));
}

TEST_F(Sweep, WorkersRefuseOtherData) {
  SweepPlan plan = plan_sweep(config_);
  plan.data_sha256[0].second = "other";
  write_plan(folder_, plan);
  EXPECT_THAT(error_message([&] { work_on_sweep(folder_); }), HasSubstr("synthetic"));
}

TEST_F(Sweep, SeedsGiveStatistics) {
  config_.seeds = {1, 2};
  config_.precisions = {"fp32"};
  config_.pruning_levels = {0.0};
  const SweepResult result = run_sweep(config_);
  ASSERT_EQ(result.merged.runs.size(), 2u);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "summary_multi_seed.json"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "seed_1" / "summary.json"));
}

}  // namespace
}  // namespace assay
