#include "assay/stored_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "support/error_message.h"
#include "support/scratch_folder.h"

namespace assay {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHeader =
    "pruning_level,precision,accepted,error,active_budget_mb,accuracy,accuracy_ci95_low,"
    "accuracy_ci95_high,latency_ms,latency_median_ms,latency_std_ms,latency_p95_ms,"
    "latency_ci95_low_ms,latency_ci95_high_ms,throughput_sps,memory_mb,runtime_memory_mb,"
    "energy_proxy_j,energy_measured_j,energy_note,violates_1.0mb\n";

TEST(StoredSweep, ReadsTheColumnsOfTheResults) {
  const StoredSweep sweep = parse_sweep_csv(
      std::string(kHeader) +
          "0.25,fp16,true,,2,0.81,0.79,0.83,1.5,1.4,0.1,1.7,1.45,1.55,85333,0.5,1.25,0.0075,,\"no "
          "meter, \"\"here\"\"\",false\n"
          "0.5,int8,false,out of memory,2,,,,,,,,,,,,,,,,\n",
      "s.csv");
  ASSERT_EQ(sweep.rows.size(), 2U);
  const StoredSweepRow& row = sweep.rows[0];
  EXPECT_EQ(row.name, "pruning 0.25, fp16");
  EXPECT_EQ(row.error, "");
  EXPECT_DOUBLE_EQ(*row.accuracy, 0.81);
  EXPECT_DOUBLE_EQ(row.accuracy_ci95->high, 0.83);
  EXPECT_DOUBLE_EQ(*row.latency_ms, 1.5);
  EXPECT_DOUBLE_EQ(row.latency_ci95_ms->low, 1.45);
  EXPECT_DOUBLE_EQ(*row.memory_mb, 0.5);
  EXPECT_DOUBLE_EQ(*row.energy_proxy_j, 0.0075);
  EXPECT_FALSE(row.energy_measured_j);
  EXPECT_EQ(sweep.rows[1].error, "out of memory");
  EXPECT_FALSE(sweep.rows[1].latency_ms);
}

TEST(StoredSweep, RowsAreNamedByBatchAndThreadsWhereThereAreSome) {
  const StoredSweep sweep =
      parse_sweep_csv("pruning_level,precision,batch_size,threads\r\n0,fp32,8,1\r\n", "s.csv");
  EXPECT_EQ(sweep.rows.at(0).name, "pruning 0, fp32, batch 8, 1 thread");
}

TEST(StoredSweep, RefusesWhatIsNoTable) {
  const auto message = [](const std::string& text) {
    return error_message(ErrorKind::BadInput, [&] { parse_sweep_csv(text, "s.csv"); });
  };
  EXPECT_THAT(message(""), HasSubstr("s.csv: column 'pruning_level' is missing"));
  EXPECT_THAT(message("pruning_level,precision\n0\n"), HasSubstr("line 2: 1 cells"));
  EXPECT_THAT(message("pruning_level,precision\n0,\"x\n"), HasSubstr("line 2: a quote"));
  EXPECT_THAT(message("pruning_level,precision\n0,\"x\"y\n"), HasSubstr("line 2: text after"));
  EXPECT_THAT(message("pruning_level,precision,latency_ms\n\n0,fp32,fast\n"),
              HasSubstr("line 3: latency_ms is 'fast'"));
  EXPECT_THAT(message("pruning_level,precision,latency_ms\n0,fp32,-1\n"), HasSubstr("-1"));
}

TEST(StoredSweep, IsAFolderWithResultsAndASummary) {
  const ScratchFolder scratch;
  EXPECT_FALSE(is_sweep_folder(scratch.path()));
  std::ofstream(scratch.path() / "sweep_results.csv") << kHeader;
  EXPECT_FALSE(is_sweep_folder(scratch.path()));
  std::ofstream(scratch.path() / "summary.json") << "{}";
  EXPECT_TRUE(is_sweep_folder(scratch.path()));
  EXPECT_TRUE(read_sweep(scratch.path()).rows.empty());
}

}  // namespace
}  // namespace assay
