#include "assay/roofline_chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/text.h"
#include "report/charts/label_places.h"
#include "report/charts/lettering.h"
#include "report/charts/roofline_layout.h"
#include "report/golden.h"
#include "report/picture.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RooflineChart chart_of(int points) {
  RooflineChart chart{.title = "Some model",
                      .machine = "Some machine, 1 thread",
                      .peaks = {{"fp32 AVX-512", 178}, {"fp32 AVX2", 111}},
                      .bandwidths = {{"L1", 194}, {"DRAM", 12.5}},
                      .points = {}};
  for (int i = 0; i < points; ++i) {
    const double intensity = 0.1 * std::pow(1.7, i % 13);
    chart.points.push_back({.name = "layer" + std::to_string(i),
                            .intensity = intensity,
                            .gflops = std::min(150.0, 9 * intensity) / (1 + i % 3),
                            .time_share = 1.0 / (2 + i),
                            .bound = i % 3 == 0   ? "compute"
                                     : i % 3 == 1 ? "memory"
                                                  : "overhead"});
  }
  return chart;
}

TEST(Roofline, LeavesOutAndCountsWhatHasNoPlace) {
  RooflineChart chart = chart_of(3);
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    chart.points.push_back({.name = "bad", .intensity = bad, .gflops = 1});
    chart.points.push_back({.name = "bad", .intensity = 1, .gflops = bad});
  }
  chart.peaks.push_back({"none", 0});
  const RooflineLayout layout = layout_of(chart);
  EXPECT_EQ(layout.points.size(), 3u);
  EXPECT_THAT(layout.note, HasSubstr("8 points left out"));
  EXPECT_THAT(layout.note, HasSubstr("1 ceiling left out"));
  EXPECT_THAT(roofline_text(chart), HasSubstr("8 points left out"));
  EXPECT_THAT(roofline_text(chart), Not(HasSubstr("bad")));
  EXPECT_THAT(roofline_svg(chart), HasSubstr("8 points left out"));
}

TEST(Roofline, EndsBandwidthsAtTheHighestPeak) {
  const RooflineLayout layout = layout_of(chart_of(3));
  for (const Roof& roof : layout.roofs) {
    if (roof.label == "DRAM 12.5 GB/s") {
      EXPECT_DOUBLE_EQ(roof.to, 178 / 12.5);
    } else if (roof.label == "fp32 AVX2 111 GFLOP/s") {
      EXPECT_DOUBLE_EQ(roof.from, 111.0 / 194);
    }
  }
  EXPECT_EQ(layout.roofs.size(), 4u);
}

TEST(Roofline, HasEveryPointWithinItsAxes) {
  const RooflineLayout layout = layout_of(chart_of(200));
  EXPECT_EQ(layout.points.size(), 200u);
  for (const RooflinePoint& point : layout.points) {
    EXPECT_GT(layout.intensity.place(point.intensity), 0);
    EXPECT_LT(layout.intensity.place(point.intensity), 1);
    EXPECT_GT(layout.gflops.place(point.gflops), 0);
    EXPECT_LT(layout.gflops.place(point.gflops), 1);
  }
}

TEST(LogRange, HasItsTicksAtPowersOfTen) {
  std::string texts;
  for (const Tick& tick : ticks_of(LogRange{0.05, 2000}, 10)) {
    if (!tick.text.empty()) texts += tick.text + " ";
  }
  EXPECT_EQ(texts, "0.1 1 10 100 1000 ");
  EXPECT_DOUBLE_EQ((LogRange{1, 100}.place(10)), 0.5);
  EXPECT_DOUBLE_EQ((LogRange{1, 100}.number(0.5)), 10);
}

TEST(RooflineText, IsPinned) {
  expect_golden("roofline.txt", roofline_text(chart_of(9)));
}

TEST(RooflineText, StaysWithinItsWidth) {
  for (const int points : {0, 1, 40, 200}) {
    for (const std::size_t width : {52, 80, 120}) {
      for (const std::string& line : split(roofline_text(chart_of(points), width, 12), '\n')) {
        EXPECT_LE(display_width(line), width) << line;
      }
    }
  }
}

TEST(RooflineText, HasColoursOnlyWhenAsked) {
  EXPECT_THAT(roofline_text(chart_of(5), 80, 20, true), HasSubstr("\033["));
  EXPECT_THAT(roofline_text(chart_of(5), 80, 20, false), Not(HasSubstr("\033[")));
  RooflineChart hostile = chart_of(1);
  hostile.points[0].name = hostile.title = "a\033[31mb";
  EXPECT_THAT(roofline_text(hostile), Not(HasSubstr("\033")));
}

TEST(RooflinePicture, ClipsNothing) {
  for (const int points : {0, 3, 200}) expect_whole_picture(roofline_png(chart_of(points)));
  RooflineChart odd = chart_of(40);
  odd.title = odd.machine = std::string(1000, 'W');
  for (auto& point : odd.points) {
    point.name = point.bound = std::string(300, 'W') + point.name;
    point.time_share = 1;
  }
  for (int i = 0; i < 40; ++i) odd.peaks.push_back({std::string(100, 'p'), 100.0 + i});
  expect_whole_picture(roofline_png(odd));
  odd.points[0].intensity = 1e-29;
  odd.points[1].gflops = 1e29;
  expect_whole_picture(roofline_png(odd));
  EXPECT_NO_THROW(roofline_png(RooflineChart{}));
  EXPECT_NO_THROW(roofline_text(RooflineChart{}));
}

TEST(RooflinePicture, Records180DotsPerInch) {
  const auto chunks = chunks_of(roofline_png(chart_of(3)));
  EXPECT_EQ(chunks.at(1).name, "pHYs");
  EXPECT_EQ(big_endian(chunks.at(1).payload), 7087u);
}

TEST(RooflineSvg, EscapesNames) {
  RooflineChart chart = chart_of(1);
  chart.title = chart.points[0].name = "<&\">";
  const std::string svg = roofline_svg(chart);
  EXPECT_THAT(svg, HasSubstr("<title>&lt;&amp;&quot;&gt;</title>"));
  EXPECT_THAT(svg, HasSubstr(">&lt;&amp;&quot;&gt;</text>"));
  EXPECT_THAT(svg, HasSubstr("<title>&lt;&amp;&quot;&gt;: 50.0% of the time"));
  EXPECT_THAT(svg, Not(HasSubstr("<&")));
}

TEST(Drawable, ReplacesWhatIsNoCharacter) {
  EXPECT_EQ(drawable("größe 卷 😀"), "größe 卷 😀");
  EXPECT_EQ(drawable(std::string("a\0b\x1f\x7f", 5)), "a\uFFFDb\uFFFD\uFFFD");
  EXPECT_EQ(drawable("\xff\xc3"), "\uFFFD\uFFFD");
  EXPECT_EQ(drawable("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");  // a surrogate
  EXPECT_EQ(drawable("\uFFFE\u0085"), "\uFFFD\uFFFD");
}

TEST(Fitted, IsNoWiderThanAsked) {
  const TextStyle style{.size = 9};
  for (const double width : {1.0, 20.0, 100.0}) {
    EXPECT_LE(text_width(fitted(std::string(5000, 'W'), width, style), style), width);
  }
  EXPECT_EQ(fitted("short", 1000, style), "short");
}

TEST(LabelPlaces, TellsRotatedRectanglesApart) {
  const Quad flat = standing_on({0, 0}, {10, 4});
  EXPECT_TRUE(overlap(flat, standing_on({4, -1}, {10, 4})));
  EXPECT_FALSE(overlap(flat, standing_on({11, 0}, {10, 4})));
  // Their upright boxes overlap, they do not: a diagonal passes beside the corner.
  EXPECT_FALSE(overlap(flat, along({4, -9}, {12, 3}, 1)));
  EXPECT_TRUE(overlap(flat, along({-6, -6}, {6, 2}, 1)));
  LabelPlaces places({-20, -20}, {40, 40});
  EXPECT_TRUE(places.is_free(flat));
  places.occupy(flat);
  EXPECT_FALSE(places.is_free(flat));
  EXPECT_FALSE(places.is_free(standing_on({18, 0}, {10, 4})));  // beyond the frame
}

TEST(LabelPlaces, ALabelGoesToTheNearestFreeSide) {
  LabelPlaces places({-50, -50}, {100, 100});
  const auto right = free_spot(places, {0, 0}, 5, {20, 8});
  ASSERT_TRUE(right.has_value());
  EXPECT_TRUE(right->is_close);
  EXPECT_GT(right->foot.x, 5 + 10);
  places.occupy(right->quad);
  const auto left = free_spot(places, {0, 0}, 5, {20, 8});
  ASSERT_TRUE(left.has_value());
  EXPECT_LT(left->foot.x, -5 - 10);
  places.occupy(around({0, 0}, 20));
  const auto far = free_spot(places, {0, 0}, 5, {20, 8});
  ASSERT_TRUE(far.has_value());
  EXPECT_FALSE(far->is_close);
  places.occupy(around({0, 0}, 50));
  EXPECT_FALSE(free_spot(places, {0, 0}, 5, {20, 8}).has_value());
}

}  // namespace
}  // namespace assay
