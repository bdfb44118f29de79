#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "report/charts/axis.h"
#include "report/charts/scatter_layout.h"
#include "report/fixed_sweep.h"
#include "report/picture.h"
#include "report/sweep_parts.h"

namespace assay {

using namespace assay::report;

namespace {

constexpr ParetoCost kCosts[] = {ParetoCost::Latency, ParetoCost::Energy, ParetoCost::Memory};

TEST(SweepCharts, ClipNothingWithAnyNumberOfVersions) {
  for (const int count : {0, 1, 12, 60, 500}) {
    for (const ParetoCost cost : kCosts) {
      expect_whole_picture(accuracy_chart_png(sweep_of(count), cost));
    }
  }
}

TEST(SweepCharts, ClipNothingOfLongNamesAndOddFigures) {
  SweepRun run = sweep_of(24);
  run.config.model = run.config.dataset = std::string(300, 'W');
  run.config.latency_budget_ms = 1e-6;
  for (std::size_t i = 0; i < run.rows.size(); ++i) {
    run.rows[i].precision = std::string(100, 'p') + std::to_string(i);
    run.rows[i].batch_size = static_cast<std::int64_t>(i) + 1'000'000'000;
    run.rows[i].metrics->latency_ms = std::pow(10, static_cast<double>(i));
    run.rows[i].metrics->latency_ci95_low_ms = -1e6;
    run.rows[i].metrics->latency_ci95_high_ms = std::numeric_limits<double>::infinity();
  }
  judge(run);
  for (const ParetoCost cost : kCosts) expect_whole_picture(accuracy_chart_png(run, cost));
}

TEST(SweepCharts, IdenticalAndFailedVersionsAreDrawnToo) {
  SweepRun run = sweep_of(12);
  for (SweepRow& row : run.rows) row.metrics = run.rows[0].metrics;
  run.rows[3].metrics->accuracy = std::nan("");
  run.rows[4].metrics.reset();
  judge(run);
  for (const ParetoCost cost : kCosts) expect_whole_picture(accuracy_chart_png(run, cost));
}

TEST(SweepCharts, Record180DotsPerInch) {
  const auto chunks = chunks_of(accuracy_chart_png(sweep_of(3), ParetoCost::Latency));
  EXPECT_EQ(chunks.at(1).name, "pHYs");
  EXPECT_EQ(big_endian(chunks.at(1).payload), 7087u);
}

ScatterChart scatter_of(const std::vector<double>& costs) {
  ScatterChart chart;
  for (const double cost : costs) {
    chart.points.push_back({.x = cost, .y = 50, .y_low = 49, .y_high = 51});
  }
  return chart;
}

TEST(ScatterLayout, HoldsEveryPointWithItsInterval) {
  const ScatterLayout layout = scatter_layout(scatter_of({1, 2, 5, 500}));
  EXPECT_TRUE(layout.x.is_logarithmic);
  for (const ScatterPoint& point : layout.points) {
    EXPECT_GT(layout.x.place(point.x), 0);
    EXPECT_LT(layout.x.place(point.x), 1);
    EXPECT_GT(layout.y.place(point.y_low), 0);
    EXPECT_LT(layout.y.place(point.y_high), 1);
  }
}

TEST(ScatterLayout, LeavesOutAndCountsWhatHasNoPlace) {
  const ScatterLayout layout =
      scatter_layout(scatter_of({1, 0, -1, std::nan(""), std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(layout.points.size(), 1u);
  EXPECT_EQ(layout.left_out, 4u);
}

TEST(ScatterLayout, ShowsALimitOnlyNearThePoints) {
  ScatterChart chart = scatter_of({1, 2});
  chart.limit = ScatterLimit{3, "budget"};
  EXPECT_TRUE(scatter_layout(chart).shows_limit);
  EXPECT_LT(scatter_layout(chart).x.place(3), 1);
  chart.limit->x = 200;
  EXPECT_FALSE(scatter_layout(chart).shows_limit);
  EXPECT_LT(scatter_layout(chart).x.high, 3);
}

TEST(ScatterLayout, PointsInOnePlaceAreOneCluster) {
  const std::vector<ScatterPoint> points(3);
  const auto clusters = clusters_of(points, {{10, 10}, {50, 10}, {10.2, 10.1}}, 1.5);
  ASSERT_EQ(clusters.size(), 2u);
  EXPECT_EQ(clusters[0], (std::vector<std::size_t>{2, 0}));
}

TEST(LinearRange, HasItsTicksAtRoundNumbers) {
  const auto texts = [](const LinearRange& range) {
    std::string all;
    for (const Tick& tick : ticks_of(range, 8)) all += tick.text + " ";
    return all;
  };
  EXPECT_EQ(texts({0.9, 3.2}), "1.0 1.5 2.0 2.5 3.0 ");
  EXPECT_EQ(texts({-2, 41}), "0 10 20 30 40 ");
  EXPECT_EQ(texts({0.00071, 0.00079}),
            "0.00071 0.00072 0.00073 0.00074 0.00075 0.00076 0.00077 "
            "0.00078 0.00079 ");
}

}  // namespace
}  // namespace assay
