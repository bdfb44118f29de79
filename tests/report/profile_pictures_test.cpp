#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assay/profile_report.h"
#include "fixed_profile.h"
#include "report/charts/chart_title.h"
#include "report/picture.h"

namespace assay {

using namespace assay::report;

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// `count` layers of one step each, of growing times; each writes a tensor that the next two read.
Profile profile_of(std::size_t count) {
  Profile profile = fixed_profile();
  profile.model.name = "/models/deep.onnx";
  const ProfileStep step = profile.steps.front();
  const ProfileLayer layer = profile.layers.front();
  profile.steps.clear();
  profile.layers.clear();
  profile.latency.latency.median_ms = profile.between_steps_ms;
  for (std::size_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::int64_t>(i);
    profile.steps.push_back(step);
    profile.steps.back().info.name = "/net/block." + std::to_string(i) + "/Conv";
    profile.steps.back().info.executed_flops = 1000 * (number / 2 + 1);  // pairs do the same work
    profile.layers.push_back(layer);
    profile.layers.back().cost.name = profile.steps.back().info.name;
    profile.layers.back().time_ms = 0.01 * static_cast<double>(i + 1);
    profile.layers.back().steps = {i};
    profile.layers.back().fused.clear();
    profile.latency.latency.median_ms += *profile.layers.back().time_ms;
    profile.memory.buffers.push_back(
        {profile.steps.back().info.name + "_output_0", 1024 * (number % 7 + 1), 0, i, i + 2});
  }
  return profile;
}

TEST(LayerTimes, ClipNothingWhateverTheNumberOfLayers) {
  for (const std::size_t count : {1, 5, 60, 200}) {
    expect_whole_picture(layer_times_png(profile_of(count)));
  }
}

TEST(LayerTimes, AreTitledByTheModelAndUseDisplayNames) {
  const std::string svg = layer_times_svg(profile_of(5));
  EXPECT_THAT(svg, HasSubstr("deep: time per layer"));
  EXPECT_THAT(svg, HasSubstr(">block.4</text>"));
}

TEST(LayerTimes, ShowTheSlowestAndSumUpTheOthers) {
  const std::string svg = layer_times_svg(profile_of(200));
  EXPECT_THAT(svg, HasSubstr(">block.199</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">block.0</text>")));
  EXPECT_THAT(svg, HasSubstr("(140 other layers, between steps)"));
}

TEST(MemorySchedule, ClipsNothingWhateverTheNumberOfSteps) {
  for (const std::size_t count : {1, 5, 60, 200, 5000}) {
    const auto png = memory_schedule_png(profile_of(count));
    ASSERT_TRUE(png);
    expect_whole_picture(*png);
  }
}

TEST(MemorySchedule, NamesTheTensorsOfThePeak) {
  // Three are alive at a time, of 1 to 7 KiB: 5 + 6 + 7 at step 6.
  const auto svg = memory_schedule_svg(profile_of(20));
  ASSERT_TRUE(svg);
  EXPECT_THAT(*svg, HasSubstr("deep: memory over one inference"));
  EXPECT_THAT(*svg, HasSubstr("at most 18.0 KiB alive at once"));
  EXPECT_THAT(*svg, HasSubstr("peak: block.6"));
  for (const char* alive : {">block.4<", ">block.5<", ">block.6<"}) {
    EXPECT_THAT(*svg, HasSubstr(alive));
  }
}

TEST(MemorySchedule, IsNotThereWithoutAnArena) {
  EXPECT_FALSE(memory_schedule_png(fixed_profile()));
  EXPECT_FALSE(memory_schedule_svg(fixed_profile()));
}

TEST(ProfileRoofline, MergesLayersThatDoTheSameWork) {
  const auto chart = roofline_chart(profile_of(6));
  ASSERT_TRUE(chart);
  EXPECT_EQ(chart->title, "deep: roofline, batch 2");
  ASSERT_EQ(chart->points.size(), 3u);
  EXPECT_EQ(chart->points[0].name, "block.0 ×2");
  // 2 · 1000 FLOPs in 0.01 + 0.02 ms.
  EXPECT_NEAR(chart->points[0].gflops, 2000 / 0.03e6, 1e-9);
}

TEST(ProfileRoofline, LegendTellsLongNamesApart) {
  RooflineChart chart{.title = "deep", .machine = "", .peaks = {}, .bandwidths = {}, .points = {}};
  for (const char* block : {"3", "4"}) {
    chart.points.push_back({.name = "features.with.a.long.name.denseblock" + std::string(block) +
                                    ".denselayer11.another.long.name.conv1",
                            .intensity = 1,
                            .gflops = 1,
                            .time_share = 0.5});
  }
  const std::string svg = roofline_svg(chart);
  const auto label_after = [&](const std::string& letter) {
    const std::size_t at =
        svg.find('>', svg.find("<text", svg.find(">" + letter + "</text>\n<text x=\"606\"")));
    return svg.substr(at, svg.find('<', at) - at);
  };
  EXPECT_NE(label_after("A"), label_after("B"));
}

TEST(ChartTitle, IsTheModelAsPeopleCallIt) {
  EXPECT_EQ(model_title("/models/resnet50.onnx"), "resnet50");
  EXPECT_EQ(model_title("zoo:lenet5"), "lenet5");
  EXPECT_EQ(model_title(".onnx"), ".onnx");
  EXPECT_EQ(chart_title("", "time per layer"), "Time per layer");
  EXPECT_EQ(chart_title("a.onnx", "time"), "a: time");
}

}  // namespace

}  // namespace assay
