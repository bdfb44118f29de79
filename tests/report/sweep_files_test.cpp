#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "assay/sweep_report.h"
#include "base/text.h"
#include "report/fixed_sweep.h"
#include "report/golden.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using Keyed = nlohmann::json;

std::vector<std::string> names_of(const std::vector<NamedFile>& files) {
  std::vector<std::string> names;
  for (const auto& [name, content] : files) names.push_back(name);
  std::ranges::sort(names);
  return names;
}

std::string content_of(const SweepRun& run, const std::string& name) {
  for (const auto& [file, content] : sweep_files(run)) {
    if (file == name) return content;
  }
  ADD_FAILURE() << name << " is missing";
  return "";
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// CONTRACT.md, section 5, and section 1's artifacts.
TEST(SweepFiles, AreThoseOfTheContract) {
  EXPECT_EQ(names_of(sweep_files(fixed_sweep())),
            (std::vector<std::string>{"accuracy_vs_energy.png",
                                      "accuracy_vs_energy.svg",
                                      "accuracy_vs_latency.png",
                                      "accuracy_vs_latency.svg",
                                      "accuracy_vs_memory.png",
                                      "accuracy_vs_memory.svg",
                                      "hardware_summary.csv",
                                      "layerwise_activation_memory.png",
                                      "layerwise_activation_memory.svg",
                                      "layerwise_breakdown.csv",
                                      "layerwise_macs.png",
                                      "layerwise_macs.svg",
                                      "pareto_frontier_energy.csv",
                                      "pareto_frontier_latency.csv",
                                      "pareto_frontier_memory.csv",
                                      "precision_tradeoffs.csv",
                                      "quantization_metadata_p0.0_int8.json",
                                      "quantization_metadata_p0.25_int8.json",
                                      "reproducibility.json",
                                      "summary.json",
                                      "sweep_errors.csv",
                                      "sweep_results.csv"}));
}

TEST(SweepFiles, OfASweepWithoutFailuresHaveNoErrors) {
  SweepRun run = fixed_sweep();
  run.rows.erase(run.rows.begin() + 4);
  judge(run);
  const auto names = names_of(sweep_files(run));
  EXPECT_EQ(std::ranges::count(names, "sweep_errors.csv"), 0);
}

TEST(SweepFiles, OfASweepThatHasJustBegunAreWhole) {
  const std::vector<NamedFile> files = sweep_files(SweepRun{});
  for (const auto& [name, content] : files) EXPECT_FALSE(content.empty()) << name;
  const Keyed summary = Keyed::parse(sweep_summary_json({}));
  EXPECT_EQ(summary["study_rows"], 0);
  EXPECT_TRUE(summary["baseline"].is_null());
  EXPECT_TRUE(summary["best_accuracy_accepted"].is_null());
  EXPECT_TRUE(summary["deployment"]["batch_latency_ms"].is_null());
  EXPECT_TRUE(summary["machine"].is_null());
}

// --- tables

TEST(SweepCsv, HasTheColumnsOfTheContractThenOurs) {
  EXPECT_EQ(first_line(content_of(fixed_sweep(), "sweep_results.csv")),
            "pruning_level,precision,accepted,error,active_budget_mb,"
            "accuracy,accuracy_ci95_low,accuracy_ci95_high,latency_ms,latency_median_ms,"
            "latency_std_ms,latency_p95_ms,latency_ci95_low_ms,latency_ci95_high_ms,"
            "throughput_sps,memory_mb,runtime_memory_mb,energy_proxy_j,energy_measured_j,"
            "energy_note,violates_1.0mb,violates_2.0mb,violates_4.0mb,"
            "seed,batch_size,threads,latency_vs_baseline,latency_vs_baseline_ci95_low,"
            "latency_vs_baseline_ci95_high,host,processor,machine,task");
}

TEST(SweepCsv, IsAsPinned) {
  expect_golden("sweep_results.csv", content_of(fixed_sweep(), "sweep_results.csv"));
}

TEST(SweepCsv, AFailedVersionHasEmptyCellsAndItsError) {
  const SweepRun run = fixed_sweep();
  const std::string text = sweep_results_csv({run.rows[4]}, run.config);
  EXPECT_THAT(text, HasSubstr("\n0.25,fp16,false,\"killed by signal 9, \"\"out of memory\"\"\",2.0,"
                              ",,,,,,,,,,,,,,,,,,7,128,2,,,,shelf1,Some Processor,5ome,"));
}

TEST(SweepCsv, WhatIsNotANumberIsAnEmptyCell) {
  SweepRun run = fixed_sweep();
  run.rows[0].metrics->accuracy = std::nan("");
  run.rows[0].metrics->latency_ms = std::numeric_limits<double>::infinity();
  EXPECT_THAT(sweep_results_csv({run.rows[0]}, run.config),
              HasSubstr(",2.0,,0.8625,0.8875,,3.9375"));
}

TEST(SweepCsv, FrontiersAreRowsOfTheResultsCheapestFirst) {
  const SweepRun run = fixed_sweep();
  const std::vector<std::string> results = split(content_of(run, "sweep_results.csv"), '\n');
  for (const std::string cost : {"latency", "energy", "memory"}) {
    const std::string text = content_of(run, "pareto_frontier_" + cost + ".csv");
    const std::vector<std::string> lines = split(text, '\n');
    EXPECT_EQ(lines[0], results[0]);
    ASSERT_EQ(lines_of(text), 4u) << text;  // a header and all three accepted rows
    EXPECT_EQ(lines[1], results[6]);        // int8, pruned by 0.25
    EXPECT_EQ(lines[3], results[2]);        // fp16
  }
}

TEST(SweepCsv, ErrorsHaveALineForEachFailedVersion) {
  EXPECT_EQ(content_of(fixed_sweep(), "sweep_errors.csv"),
            "pruning_level,precision,batch_size,threads,seed,error,seconds,host,task\n"
            "0.25,fp16,128,2,7,\"killed by signal 9, \"\"out of memory\"\"\",0.5,shelf1,"
            "measure-p25-fp16\n");
}

TEST(SweepCsv, PrecisionTradeoffsCountFailedVersionsInTheRatioOnly) {
  const std::string text = content_of(fixed_sweep(), "precision_tradeoffs.csv");
  EXPECT_EQ(first_line(text),
            "precision,accuracy_mean,latency_ms_mean,memory_mb_mean,energy_proxy_j_mean,"
            "accepted_ratio");
  EXPECT_THAT(text, HasSubstr("\nfp16,0.8725,3.0,1.75,0.015,0.5\n"));
  EXPECT_THAT(text, HasSubstr("\nfp32,0.86875,3.25,3.0,0.01625,0.0\n"));
}

// --- documents

TEST(SweepSummary, IsAsPinned) {
  expect_golden("sweep_summary.json", sweep_summary_json(fixed_sweep()));
}

TEST(SweepSummary, HasTheKeysOfTheContract) {
  const Keyed summary = Keyed::parse(content_of(fixed_sweep(), "summary.json"));
  for (const char* key :
       {"baseline", "memory_budgets_mb", "active_memory_budget_mb", "cpu_frequency_scale",
        "latency_multiplier", "study_rows", "accepted_rows", "rejected_rows",
        "best_accuracy_accepted", "lowest_latency_ms_accepted", "deployment"}) {
    EXPECT_TRUE(summary.contains(key)) << key;
  }
  for (const char* key : {"accuracy", "latency_ms", "memory_mb", "violates_1.0mb", "violates_2.0mb",
                          "violates_4.0mb", "accepted_under_active_budget"}) {
    EXPECT_TRUE(summary["baseline"].contains(key)) << key;
  }
  for (const char* key :
       {"batch_latency_ms", "batch_throughput_sps", "stream_avg_latency_ms",
        "stream_throughput_sps", "estimated_total_bytes", "estimated_total_macs",
        "achieved_bandwidth_gbps", "configured_memory_bandwidth_gbps", "bandwidth_utilization",
        "achieved_gmacs", "arithmetic_intensity_macs_per_byte", "configured_peak_compute_gmacs",
        "roofline_knee_macs_per_byte", "bound_regime"}) {
    EXPECT_TRUE(summary["deployment"].contains(key)) << key;
  }
  EXPECT_EQ(summary["latency_multiplier"], 2);  // 1 / 0.5
  EXPECT_EQ(summary["best_accuracy_accepted"], 0.8725);
  EXPECT_EQ(summary["lowest_latency_ms_accepted"], 1.25);
  EXPECT_EQ(summary["baseline"]["accepted_under_active_budget"], false);  // 3.5 MB
}

TEST(SweepSummary, EveryRowIsCountedOnce) {
  for (const SweepRun& run : {fixed_sweep(), sweep_of(0), sweep_of(1), sweep_of(500)}) {
    const Keyed summary = Keyed::parse(sweep_summary_json(run));
    const auto count = [&](const char* key) { return summary[key].get<std::size_t>(); };
    EXPECT_EQ(count("study_rows"), run.rows.size());
    EXPECT_EQ(count("accepted_rows") + count("rejected_rows"), count("study_rows"));
    EXPECT_EQ(summary["rejected"].size(), count("rejected_rows"));
    const std::size_t recommended = summary["recommended"]["row"].is_null() ? 0 : 1;
    EXPECT_EQ(summary["not_recommended"].size() + recommended, count("accepted_rows"));
  }
}

TEST(SweepSummary, SaysWhatIsRecommendedAndWhetherThatIsBeyondNoise) {
  const Keyed recommended = Keyed::parse(sweep_summary_json(fixed_sweep()))["recommended"];
  EXPECT_EQ(recommended["row"], 2);
  EXPECT_EQ(recommended["version"], "int8");
  EXPECT_EQ(recommended["model_file"], "recommended.onnx");
  EXPECT_EQ(recommended["runner_up"]["version"], "fp16");
  EXPECT_NEAR(recommended["runner_up"]["latency_of_recommended_over_this"]["ratio"], 0.5, 1e-12);
  EXPECT_EQ(recommended["runner_up"]["is_beyond_noise"], true);
}

TEST(SweepSummary, WithNothingAcceptedSaysWhy) {
  SweepRun run = fixed_sweep();
  run.config.active_memory_budget_mb = 0.1;
  for (SweepRow& row : run.rows) row.accepted = false;
  judge(run);
  const Keyed summary = Keyed::parse(sweep_summary_json(run));
  EXPECT_TRUE(summary["recommended"]["row"].is_null());
  EXPECT_EQ(summary["recommended"]["reason"], "no version is within the budget of 0.1 MB");
  EXPECT_TRUE(summary["best_accuracy_accepted"].is_null());
  EXPECT_EQ(summary["rejected"].size(), 6u);
}

TEST(SweepSummary, BytesThatAreNoTextDoNotBreakIt) {
  SweepRun run = fixed_sweep();
  run.rows[4].error = "\xff\"\n\x01";
  judge(run);
  for (const auto& [name, content] : sweep_files(run)) {
    if (!name.ends_with(".json")) continue;
    EXPECT_NO_THROW(Keyed::parse(content)) << name;
  }
}

TEST(SweepQuantization, HasMethodBatchesAndLayers) {
  const SweepRun run = fixed_sweep();
  const Keyed json = Keyed::parse(content_of(run, "quantization_metadata_p0.0_int8.json"));
  EXPECT_EQ(json["method"], "static, entropy");
  EXPECT_EQ(json["calibration_batches"], 8);
  EXPECT_EQ(json["layers"][0]["layer"], "conv1");
  EXPECT_EQ(json["layers"][0]["type"], "int8");
  EXPECT_EQ(json["layers"][0]["scale"], (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(json["layers"][0]["zero_point"], (std::vector<int>{0, 0}));
  EXPECT_NO_THROW(Keyed::parse(content_of(run, "quantization_metadata_p0.25_int8.json")));
}

TEST(SweepReproducibility, IsAnObjectInTheGivenOrder) {
  EXPECT_EQ(content_of(fixed_sweep(), "reproducibility.json"),
            "{\n  \"version\": \"1.0\",\n  \"command\": \"assay sweep sweep.yaml\"\n}\n");
}

}  // namespace
}  // namespace assay
