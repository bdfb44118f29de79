#include "assay/compare_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "fixed_comparison.h"
#include "golden.h"
#include "support/error_message.h"

namespace assay {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const ComparedMetric& metric(const CompareReport& report, const std::string& name) {
  for (const ComparedMetric& one : report.rows.front().metrics) {
    if (one.name == name) return one;
  }
  ADD_FAILURE() << "no metric " << name;
  return report.rows.front().metrics.front();
}

TEST(CompareReport, TableIsAsPinned) {
  expect_golden("compare.txt", compare_table(fixed_report()));
}
TEST(CompareReport, JsonIsAsPinned) {
  expect_golden("compare.json", compare_json(fixed_report()));
}
TEST(CompareReport, MarkdownIsAsPinned) {
  expect_golden("compare.md", compare_markdown(fixed_report()));
}
TEST(CompareReport, JunitIsAsPinned) {
  expect_golden("compare.xml", compare_junit(fixed_report()));
}
TEST(CompareReport, BenchmarkJsonIsAsPinned) {
  expect_golden("compare_benchmark.json", compare_benchmark_json(fixed_report()));
}

TEST(CompareReport, HasNoImpactWhereAStoredProfileDoesNotTellItsBytes) {
  ModelComparison comparison = fixed_comparison();
  comparison.a.profile.estimated_total_bytes.reset();
  const CompareReport report = compare_report(comparison);
  EXPECT_THAT(compare_table(report), Not(HasSubstr("bandwidth")));
  EXPECT_THAT(compare_json(report), HasSubstr("\"impact\":null"));
}

TEST(CompareReport, SaysInWordsWhichIsWhich) {
  ModelComparison comparison = fixed_comparison();
  const auto table = [&] { return compare_table(compare_report(comparison)); };
  EXPECT_THAT(table(), HasSubstr("B is faster than A"));
  comparison.result.verdict = ComparisonVerdict::Slower;
  EXPECT_THAT(table(), HasSubstr("B is slower than A"));
  comparison.result.verdict = ComparisonVerdict::Same;
  EXPECT_THAT(table(), HasSubstr("B is as fast as A"));
  comparison.result.verdict = ComparisonVerdict::Undecided;
  EXPECT_THAT(table(), HasSubstr("UNDECIDED"));
  comparison.measured_again = {"A"};
  EXPECT_THAT(table(), HasSubstr("measured again"));
  comparison.interleaved = false;
  EXPECT_THAT(table(), HasSubstr("not run in turn"));
}

TEST(CompareReport, RatioShownIsThatOfTheMediansShown) {
  const CompareReport report = fixed_report();
  EXPECT_DOUBLE_EQ(*metric(report, "latency").ratio(), 1.5 / 2.0);
  EXPECT_THAT(compare_table(report), HasSubstr("2.000 ms   1.500 ms  0.750"));
}

TEST(CompareReport, RatesHaveTheIntervalOfTheLatency) {
  const CompareReport report = fixed_report();
  EXPECT_DOUBLE_EQ(*metric(report, "throughput").b, 2 * 1000 / 1.5);  // batch 2
  EXPECT_DOUBLE_EQ(metric(report, "throughput").ratio_estimate->ci95.low, 1 / 0.8);
  // 4 MB in 2 ms; half of the bytes in 0.7 to 0.8 of the time.
  EXPECT_DOUBLE_EQ(*metric(report, "bandwidth").a, 2);
  EXPECT_DOUBLE_EQ(metric(report, "bandwidth").ratio_estimate->ci95.high, 0.5 / 0.7);
  EXPECT_DOUBLE_EQ(*metric(report, "energy").b, 5 * 0.0015);
}

TEST(CompareReport, GatesAreJudgedByTheTableOfMetrics) {
  const CompareReport report = fixed_report();
  ASSERT_EQ(report.gates.size(), 3U);
  EXPECT_EQ(report.gates[0].verdict, GateVerdict::Passed);
  EXPECT_EQ(report.gates[1].verdict, GateVerdict::Failed);
  EXPECT_EQ(report.gates[2].verdict, GateVerdict::Undecided);  // 1.4 to 1.6 ms
  EXPECT_TRUE(gates_fail(report));
}

TEST(CompareReport, UndecidedGatesFailIfAskedTo) {
  CompareReport report = fixed_report();
  report.gates.erase(report.gates.begin() + 1);
  EXPECT_FALSE(gates_fail(report));
  EXPECT_THAT(compare_junit(report), HasSubstr("<skipped message=\"UNDECIDED"));
  report.undecided_fails = true;
  EXPECT_TRUE(gates_fail(report));
  EXPECT_THAT(compare_junit(report), HasSubstr("<failure type=\"UNDECIDED\""));
}

TEST(CompareReport, AGateOnAMetricThatIsNotKnownIsAnError) {
  const std::vector<ComparedRow> rows = {{.metrics = compared_metrics(fixed_comparison())}};
  EXPECT_THAT(
      error_message(ErrorKind::BadInput, [&] { judge_gates({parse_gate("accuracy<-1")}, rows); }),
      HasSubstr("accuracy"));
}

TEST(CompareReport, NamesCannotBreakMarkupOrXml) {
  CompareReport report = fixed_report();
  report.b.name = "a\x01|<b>&\"'\xff.onnx";
  EXPECT_THAT(compare_junit(report), HasSubstr("a?|&lt;b&gt;&amp;&quot;'?.onnx"));
  EXPECT_THAT(compare_markdown(report), HasSubstr("a?\\|\\<b\\>\\&"));
}

TEST(CompareSweeps, TableIsAsPinned) {
  CompareReport report = compare_sweeps(fixed_sweep("old", 2.0), fixed_sweep("new", 2.2));
  report.gates = judge_gates({parse_gate("latency>5%"), parse_gate("accuracy<-1")}, report.rows);
  expect_golden("compare_sweeps.txt", compare_table(report));
  expect_golden("compare_sweeps.json", compare_json(report));
  expect_golden("compare_sweeps.md", compare_markdown(report));
}

TEST(CompareSweeps, IntervalsOfBothAddAsSquares) {
  const CompareReport report = compare_sweeps(fixed_sweep("old", 2.0), fixed_sweep("new", 2.2));
  // Each latency within 1 %, processes within 1.96 * sqrt(2) * 0.8 %: about 2.6 % of 1.1.
  const RatioEstimate ratio = *metric(report, "latency").ratio_estimate;
  EXPECT_NEAR(ratio.value, 1.1, 1e-12);
  EXPECT_NEAR(ratio.ci95.low, 1.1 * std::exp(-0.0263), 1e-3);
  EXPECT_NEAR(ratio.ci95.high, 1.1 * std::exp(0.0263), 1e-3);
  // 0.02 and 0.02.
  EXPECT_NEAR(metric(report, "accuracy").difference_ci95->low, -0.02 * std::sqrt(2.0), 1e-12);
}

TEST(CompareSweeps, ARowThatFailedOnlyInBFailsEveryGate) {
  StoredSweep b = fixed_sweep("new", 2.0);
  b.rows[1] = {.name = b.rows[1].name, .error = "out of memory"};
  CompareReport report = compare_sweeps(fixed_sweep("old", 2.0), b);
  report.gates = judge_gates({parse_gate("memory_mb>64")}, report.rows);
  EXPECT_EQ(report.gates[0].verdict, GateVerdict::Passed);
  EXPECT_EQ(report.gates[1].verdict, GateVerdict::Failed);
  EXPECT_THAT(report.gates[1].reason, HasSubstr("out of memory"));
}

TEST(CompareSweeps, ListsRowsThatOnlyOneHas) {
  StoredSweep b = fixed_sweep("new", 2.0);
  b.rows[1].name = "pruning 0.7, int8";
  const CompareReport report = compare_sweeps(fixed_sweep("old", 2.0), b);
  EXPECT_EQ(report.rows.size(), 1U);
  EXPECT_THAT(report.warnings[0], HasSubstr("'pruning 0.5, int8' is only in A"));
  EXPECT_THAT(report.warnings[1], HasSubstr("'pruning 0.7, int8' is only in B"));
  b.rows[0].name = "pruning 0.9, int8";
  EXPECT_THAT(error_message([&] { compare_sweeps(fixed_sweep("old", 2.0), b); }),
              HasSubstr("no row in common"));
}

}  // namespace
}  // namespace assay
