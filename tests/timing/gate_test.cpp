#include "assay/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/error_message.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

ComparedMetric latency(double ratio, double low, double high) {
  return {.name = "latency",
          .a = 10,
          .b = 10 * ratio,
          .b_ci95 = ValueRange{10 * low, 10 * high},
          .ratio_estimate = RatioEstimate{ratio, {low, high}}};
}

ComparedMetric exact(const char* name, double a, double b) {
  return {.name = name, .a = a, .b = b, .is_exact = true};
}

GateVerdict verdict(const char* gate, const ComparedMetric& metric) {
  return judge_gate(parse_gate(gate), metric).verdict;
}

TEST(GateGrammar, APercentageIsRelativeToA) {
  const Gate gate = parse_gate(" latency > 5 % ");
  EXPECT_EQ(gate.text, "latency > 5 %");
  EXPECT_EQ(gate.metric, "latency");
  EXPECT_EQ(gate.scale, GateScale::Percent);
  EXPECT_TRUE(gate.fails_above);
  EXPECT_FALSE(gate.fails_at_limit);
  EXPECT_DOUBLE_EQ(gate.limit, 5);
  EXPECT_DOUBLE_EQ(parse_gate("throughput<-2.5%").limit, -2.5);
}

TEST(GateGrammar, ASignedNumberIsAChangeAndAnyOtherBsOwnValue) {
  EXPECT_EQ(parse_gate("memory_mb>64").scale, GateScale::Value);
  EXPECT_EQ(parse_gate("memory_mb>+8").scale, GateScale::Change);
  EXPECT_DOUBLE_EQ(parse_gate("memory_mb>+8").limit, 8);
  EXPECT_EQ(parse_gate("accuracy<-0.5").scale, GateScale::Change);
  EXPECT_EQ(parse_gate("accuracy<0.9").scale, GateScale::Value);
  EXPECT_TRUE(parse_gate("parameters>=1e6").fails_at_limit);
  EXPECT_DOUBLE_EQ(parse_gate("parameters>=1e6").limit, 1'000'000);
}

TEST(GateGrammar, SuggestsTheNearestMetric) {
  const auto message = [](const char* text) {
    return error_message(ErrorKind::Usage, [&] { parse_gate(text); });
  };
  EXPECT_THAT(message("latncy>5%"),
              AllOf(HasSubstr("'latncy'"), HasSubstr("did you mean 'latency'")));
  EXPECT_THAT(message("speed>5%"),
              AllOf(HasSubstr("'speed'"), HasSubstr("there are latency, p95")));
  EXPECT_THAT(message(">5%"), HasSubstr("no metric ''"));
}

TEST(GateGrammar, RefusesWhatIsNoNumber) {
  for (const char* text :
       {"latency>", "latency>%", "latency>x", "latency>5%%", "latency>5 ms", "latency>nan",
        "latency>inf%", "latency>++5", "latency>+-5", "latency>1e999", "latency>>5", "latency=>5",
        "latency 5%", "", "latency"}) {
    EXPECT_NE(error_message(ErrorKind::Usage, [&] { parse_gate(text); }), "") << text;
  }
}

TEST(GateGrammar, KnowsWhichGatesFailImprovements) {
  EXPECT_TRUE(fails_improvements(parse_gate("throughput>5%")));
  EXPECT_TRUE(fails_improvements(parse_gate("latency<-5%")));
  EXPECT_TRUE(fails_improvements(parse_gate("accuracy>+1")));
  EXPECT_FALSE(fails_improvements(parse_gate("latency>5%")));
  EXPECT_FALSE(fails_improvements(parse_gate("throughput<-5%")));
  EXPECT_FALSE(fails_improvements(parse_gate("throughput<5%")));  // B must be faster
  EXPECT_FALSE(fails_improvements(parse_gate("latency>-5%")));    // B must be faster
  EXPECT_FALSE(fails_improvements(parse_gate("throughput>100")));
}

TEST(Gate, FailsOnlyIfTheWholeIntervalIsBeyondTheLimit) {
  EXPECT_EQ(verdict("latency>5%", latency(1.08, 1.06, 1.10)), GateVerdict::Failed);
  EXPECT_EQ(verdict("latency>5%", latency(1.08, 1.04, 1.12)), GateVerdict::Undecided);
  EXPECT_EQ(verdict("latency>5%", latency(1.00, 0.99, 1.01)), GateVerdict::Passed);
  EXPECT_EQ(verdict("latency>5%", latency(1.00, 0.90, 1.10)), GateVerdict::Undecided);
  EXPECT_EQ(verdict("latency<-5%", latency(0.90, 0.89, 0.91)), GateVerdict::Failed);
  EXPECT_EQ(verdict("latency<-5%", latency(0.94, 0.90, 0.98)), GateVerdict::Undecided);
}

TEST(Gate, LimitsAChangeOrBItself) {
  // 10 ms; B takes 10.6 to 11.0.
  EXPECT_EQ(verdict("latency>+0.5", latency(1.08, 1.06, 1.10)), GateVerdict::Failed);
  EXPECT_EQ(verdict("latency>+0.8", latency(1.08, 1.06, 1.10)), GateVerdict::Undecided);
  EXPECT_EQ(verdict("latency>+1.5", latency(1.08, 1.06, 1.10)), GateVerdict::Passed);
  EXPECT_EQ(verdict("latency>10.5", latency(1.08, 1.06, 1.10)), GateVerdict::Failed);
  EXPECT_EQ(verdict("latency>10.7", latency(1.08, 1.06, 1.10)), GateVerdict::Undecided);
  EXPECT_EQ(verdict("latency>11.5", latency(1.08, 1.06, 1.10)), GateVerdict::Passed);
}

TEST(Gate, CountsAreExact) {
  EXPECT_EQ(verdict("memory_mb>64", exact("memory_mb", 60, 64)), GateVerdict::Passed);
  EXPECT_EQ(verdict("memory_mb>=64", exact("memory_mb", 60, 64)), GateVerdict::Failed);
  EXPECT_EQ(verdict("memory_mb>64", exact("memory_mb", 60, 64.001)), GateVerdict::Failed);
  EXPECT_EQ(verdict("macs>10%", exact("macs", 100, 111)), GateVerdict::Failed);
  EXPECT_EQ(verdict("macs>10%", exact("macs", 100, 109)), GateVerdict::Passed);
  EXPECT_EQ(verdict("parameters>+5", exact("parameters", 100, 106)), GateVerdict::Failed);
  EXPECT_EQ(verdict("parameters<-5", exact("parameters", 100, 94)), GateVerdict::Failed);
}

TEST(Gate, FromNothingToSomethingIsMoreThanAnyPercentage) {
  EXPECT_EQ(verdict("macs>500%", exact("macs", 0, 1)), GateVerdict::Failed);
  EXPECT_EQ(verdict("macs>0%", exact("macs", 0, 0)), GateVerdict::Passed);
}

TEST(Gate, AccuracyChangesByPercentagePoints) {
  ComparedMetric accuracy{.name = "accuracy",
                          .a = 0.900,
                          .b = 0.890,
                          .b_ci95 = ValueRange{0.88, 0.90},
                          .difference_ci95 = ValueRange{-0.013, -0.007}};
  EXPECT_EQ(verdict("accuracy<-0.5", accuracy), GateVerdict::Failed);  // -1.3 to -0.7 points
  EXPECT_EQ(verdict("accuracy<-1", accuracy), GateVerdict::Undecided);
  EXPECT_EQ(verdict("accuracy<-1.5", accuracy), GateVerdict::Passed);
  EXPECT_EQ(verdict("accuracy<0.91", accuracy), GateVerdict::Failed);
  EXPECT_EQ(verdict("accuracy<0.895", accuracy), GateVerdict::Undecided);
  EXPECT_EQ(verdict("accuracy<-0.5%", accuracy), GateVerdict::Failed);  // -1.44 % to -0.78 %
  EXPECT_THAT(
      judge_gate(parse_gate("accuracy<-0.5"), accuracy).reason,
      HasSubstr("-1.00 points (95 % interval -1.30 points to -0.70 points), below the limit"));
}

TEST(Gate, IsUndecidedWithoutAnInterval) {
  const ComparedMetric energy{.name = "energy", .a = 1, .b = 2};
  const GateResult result = judge_gate(parse_gate("energy>5%"), energy);
  EXPECT_EQ(result.verdict, GateVerdict::Undecided);
  EXPECT_THAT(result.reason, HasSubstr("+100.00 %, without a confidence interval"));
  EXPECT_THAT(judge_gate(parse_gate("energy>5%"), {.name = "energy", .b = 2}).reason,
              HasSubstr("energy of A is not known"));
}

TEST(Gate, ReasonsHaveTheFigures) {
  EXPECT_EQ(judge_gate(parse_gate("latency>5%"), latency(1.08, 1.04, 1.12)).reason,
            "latency changed by +8.00 % (95 % interval +4.00 % to +12.00 %), which contains the "
            "limit of +5.00 %");
  EXPECT_EQ(judge_gate(parse_gate("memory_mb>64"), exact("memory_mb", 60, 70.5)).reason,
            "memory_mb of B is 70.5 MB, above the limit of 64 MB");
  EXPECT_EQ(judge_gate(parse_gate("macs>=64"), exact("macs", 60, 64)).reason,
            "macs of B is 64, not below the limit of 64");
}

TEST(Gate, TheWorstVerdictCounts) {
  std::vector<GateResult> results(2);
  results[0].verdict = results[1].verdict = GateVerdict::Passed;
  EXPECT_EQ(worst_verdict(results), GateVerdict::Passed);
  results[0].verdict = GateVerdict::Undecided;
  EXPECT_EQ(worst_verdict(results), GateVerdict::Undecided);
  results[1].verdict = GateVerdict::Failed;
  EXPECT_EQ(worst_verdict(results), GateVerdict::Failed);
}

}  // namespace
}  // namespace assay
