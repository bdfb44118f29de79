#include "assay/prune.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "assay/builder.h"
#include "assay/error.h"
#include "assay/infer.h"
#include "assay/layers.h"
#include "assay/quantize_weights.h"
#include "assay/verify.h"
#include "assay/zoo.h"
#include "support/error_message.h"

namespace assay {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int64_t> dims_of(const Graph& graph, const std::string& name) {
  return graph.initializer(*graph.find_value(name))->dims();
}

const PrunedGroup& group_named(const std::vector<PrunedGroup>& groups, const std::string& name) {
  for (const PrunedGroup& group : groups) {
    if (group.name == name) return group;
  }
  throw Error(ErrorKind::BadInput, "no group " + name);
}

TEST(Prune, HalfOfSmallCnnKeepsHalfOfEveryLayerButTheLast) {
  const PruneResult result = prune_model(zoo_model("small_cnn"), {.level = 0.5});
  const Graph& graph = result.graph;
  verify(graph);
  EXPECT_THAT(dims_of(graph, "conv1.weight"), ElementsAre(8, 1, 3, 3));
  EXPECT_THAT(dims_of(graph, "conv1.bias"), ElementsAre(8));
  EXPECT_THAT(dims_of(graph, "conv2.weight"), ElementsAre(16, 8, 3, 3));
  // Every channel is 7·7 columns of the classifier.
  const auto classifier = dims_of(graph, "classifier.weight");
  EXPECT_THAT(classifier, testing::UnorderedElementsAre(16 * 7 * 7, 10));
  const Inferred model = infer_shapes(graph);
  EXPECT_EQ(model.graph.value(model.graph.outputs()[0]).type.shape, (Shape{1, 10}));
}

// A residual stage: both producers of the sum lose the same channels.
TEST(Prune, ChannelsOfAResidualSumGoTogether) {
  GraphBuilder builder("residual");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1, 3, 8, 8});
  const ValueId a = Conv2d(3, 4, 3, {.padding = 1, .name = "a"})(builder, x);
  const ValueId inner = Conv2d(4, 6, 1, {.name = "b1"})(builder, a);
  const ValueId b = Conv2d(6, 4, 1, {.name = "b2"})(builder, Relu()(builder, inner));
  const ValueId sum = builder.node("Add", "sum", {a, b});
  builder.output(Conv2d(4, 2, 1, {.name = "last"})(builder, sum), "y");
  const PruneResult result = prune_model(builder.finish(), {.level = 0.5});
  ASSERT_EQ(result.groups.size(), 3u);
  EXPECT_THAT(group_named(result.groups, "a").layers, ElementsAre("a", "b2"));
  EXPECT_EQ(group_named(result.groups, "a").kept, 2);
  EXPECT_EQ(group_named(result.groups, "b1").kept, 3);
  EXPECT_EQ(group_named(result.groups, "last").frozen, "'y' is an output of the model");
  EXPECT_THAT(dims_of(result.graph, "b1.weight"), ElementsAre(3, 2, 1, 1));
  EXPECT_THAT(dims_of(result.graph, "b2.weight"), ElementsAre(2, 3, 1, 1));
  EXPECT_THAT(dims_of(result.graph, "last.weight"), ElementsAre(2, 2, 1, 1));
}

// Filters with these weights, one each.
Graph filters(const std::vector<float>& weights, const std::vector<float>& norm = {}) {
  GraphBuilder builder("filters");
  const auto count = static_cast<std::int64_t>(weights.size()) / 2;
  ValueId x = builder.input("x", DataType::Float32, Shape{1, 1, 1, 2});
  x = builder.node("Conv", "a",
                   {x, builder.constant("w", Tensor::of_float({count, 1, 1, 2}, weights))});
  if (!norm.empty()) {
    x = builder.node("BatchNormalization", "norm",
                     {x, builder.constant("scale", Tensor::of_float({count}, norm)),
                      builder.filled("shift", {count}, 0), builder.filled("mean", {count}, 0),
                      builder.filled("variance", {count}, 1)});
  }
  builder.output(builder.node("Conv", "last", {x, builder.filled("v", {1, count, 1, 1}, 1)}), "y");
  return builder.finish();
}

std::vector<float> kept_filters(const Graph& model, const PruneOptions& options) {
  const Graph graph = prune_model(model, options).graph;
  return graph.initializer(*graph.find_value("w"))->to_vector<float>();
}

// Sums of magnitudes: 5, 4, 4.5, 1; roots of sums of squares: 5, 2.83, 4.03, 1.
TEST(Prune, TheMostImportantFiltersStayInTheirOrder) {
  const Graph model = filters({0, -5, 2, 2, -4, 0.5f, 1, 0});
  EXPECT_THAT(kept_filters(model, {.level = 0.5}), ElementsAre(0, -5, -4, 0.5f));
  EXPECT_THAT(kept_filters(model, {.level = 0.7}), ElementsAre(0, -5));  // round(4 · 0.3) = 1
  EXPECT_THAT(kept_filters(model, {.level = 0.99}), ElementsAre(0, -5));
  EXPECT_EQ(kept_filters(model, {.level = 0}).size(), 8u);
  // 2.5 and 2.5 against 0 and 4: their sums are 5 and 4, their roots 3.54 and 4.
  const Graph close = filters({2.5f, 2.5f, 0, 4});
  EXPECT_THAT(kept_filters(close, {.level = 0.5}), ElementsAre(2.5f, 2.5f));
  EXPECT_THAT(kept_filters(close, {.level = 0.5, .criterion = PruneCriterion::L2}),
              ElementsAre(0, 4));
}

// Filters of importance 1, 2, …; how many of n stay at a level.
std::int64_t kept_of(std::int64_t count, double level) {
  std::vector<float> weights;
  for (std::int64_t i = 0; i < 2 * count; ++i) weights.push_back(static_cast<float>(i / 2 + 1));
  return static_cast<std::int64_t>(kept_filters(filters(weights), {.level = level}).size()) / 2;
}

// keep = max(1, round(n·(1 - level))) with Python's round: round(2.5) = 2, round(3.5) = 4.
TEST(Prune, ATieGoesToTheEvenNumberAsInPython) {
  EXPECT_EQ(kept_of(5, 0.5), 2);        // of 2.5
  EXPECT_EQ(kept_of(7, 0.5), 4);        // of 3.5
  EXPECT_EQ(kept_of(16, 0.21875), 12);  // of 12.5
  EXPECT_EQ(kept_of(16, 0.7), 5);       // of 4.8
  EXPECT_EQ(kept_of(3, 0.9), 1);        // of 0.3
}

// The filters of small_cnn by hand: sums of magnitudes, the largest kept in their order.
TEST(Prune, StructuredChannelPruneKeepsTheLargestFiltersOfSmallCnn) {
  const Graph model = zoo_model("small_cnn");
  const auto weights = model.initializer(*model.find_value("conv1.weight"))->to_vector<float>();
  constexpr std::size_t kTaps = 9;
  std::vector<std::pair<double, std::size_t>> ranked;
  for (std::size_t filter = 0; filter < 16; ++filter) {
    double sum = 0;
    for (std::size_t i = 0; i < kTaps; ++i) sum += std::abs(weights[filter * kTaps + i]);
    ranked.emplace_back(sum, filter);
  }
  std::ranges::sort(ranked, std::greater{});
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < 12; ++i) kept.push_back(ranked[i].second);  // round(16 · 0.75)
  std::ranges::sort(kept);
  std::vector<float> expected;
  for (const std::size_t filter : kept) {
    for (std::size_t i = 0; i < kTaps; ++i) expected.push_back(weights[filter * kTaps + i]);
  }
  const Graph pruned = structured_channel_prune(model, 0.25);
  EXPECT_EQ(pruned.initializer(*pruned.find_value("conv1.weight"))->to_vector<float>(), expected);
  EXPECT_THAT(dims_of(pruned, "conv2.weight"), ElementsAre(24, 12, 3, 3));
  EXPECT_EQ(structured_channel_prune(model, 0), model);
  EXPECT_THROW(structured_channel_prune(model, 1), Error);
  EXPECT_THROW(structured_channel_prune(model, -0.25), Error);
}

TEST(Prune, TheScaleOfTheBatchNormRanksFilters) {
  const Graph model = filters({1, 1, 9, 9}, {-3, 0.5f});
  EXPECT_THAT(kept_filters(model, {.level = 0.5, .criterion = PruneCriterion::BatchNormScale}),
              ElementsAre(1, 1));
  const PruneResult without = prune_model(
      filters({1, 1, 9, 9}), {.level = 0.5, .criterion = PruneCriterion::BatchNormScale});
  EXPECT_THAT(without.warnings, ElementsAre(HasSubstr("has no batch norm")));
}

// 10 filters: keep round(10 · 0.6) = 6, the nearest multiple of 4 is 8 (a tie goes up), of 16
// all 10.
TEST(Prune, WidthsAreRounded) {
  std::vector<float> weights;
  for (int i = 0; i < 20; ++i) weights.push_back(static_cast<float>(i));
  const auto kept = [&](std::int64_t multiple, double level) {
    return prune_model(filters(weights), {.level = level, .round_to = multiple}).groups[0].kept;
  };
  EXPECT_EQ(kept(1, 0.4), 6);
  EXPECT_EQ(kept(4, 0.4), 8);
  EXPECT_EQ(kept(4, 0.5), 4);  // of 5
  EXPECT_EQ(kept(16, 0.4), 10);
}

// A quarter of 10 is 2.5: multiples of 2 are the widest with 4 choices or more.
TEST(Prune, NarrowGroupsAreRoundedLess) {
  const auto kept = [&](std::int64_t count, double level) {
    std::vector<float> weights(static_cast<std::size_t>(2 * count), 1.0f);
    const PruneOptions options{.level = level, .round_to = 16, .least_widths = 4};
    return prune_model(filters(weights), options).groups[0].kept;
  };
  EXPECT_EQ(kept(10, 0.5), 6);    // of 5: a tie goes up
  EXPECT_EQ(kept(16, 0.5), 8);    // multiples of 4
  EXPECT_EQ(kept(16, 0.9), 4);    // of 2
  EXPECT_EQ(kept(64, 0.5), 32);   // multiples of 16
  EXPECT_EQ(kept(100, 0.5), 48);  // of 50
  EXPECT_EQ(kept(3, 0.5), 2);     // of 1.5
}

TEST(Prune, AGroupKeepsAsManyAsItIsTold) {
  const Graph model = zoo_model("small_cnn");
  const PruneResult result = prune_model(model, {.level = 0.5, .keep = {{"conv1", 13}}});
  EXPECT_EQ(group_named(result.groups, "conv1").kept, 13);
  EXPECT_EQ(group_named(result.groups, "conv2").kept, 16);
}

// Both layers have channels of importance 0.2 … 1.8 around a mean of 1, but one has more small
// ones.
TEST(Prune, AGlobalRankingTakesMoreWhereMoreIsUnimportant) {
  GraphBuilder builder("two");
  ValueId x = builder.input("x", DataType::Float32, Shape{1, 1, 1, 1});
  x = builder.node("Conv", "a",
                   {x, builder.constant("w", Tensor::of_float({4, 1, 1, 1}, {1, 1, 1, 1}))});
  x = builder.node(
      "Conv", "b",
      {x, builder.constant("v", Tensor::of_float({4, 4, 1, 1}, {9, 9, 9, 9, 0, 0, 0, 1, 0, 0, 1, 0,
                                                                0, 1, 0, 0}))});
  builder.output(builder.node("Conv", "last", {x, builder.filled("u", {1, 4, 1, 1}, 1)}), "y");
  const PruneResult result =
      prune_model(builder.finish(), {.level = 0.375, .ranking = PruneRanking::Global});
  EXPECT_EQ(group_named(result.groups, "a").kept, 4);  // of 8 channels, 3 go
  EXPECT_EQ(group_named(result.groups, "b").kept, 1);
}

TEST(Prune, BadRequestsAreRefusedWithAReason) {
  const Graph model = zoo_model("small_cnn");
  const auto message = [&](const PruneOptions& options) {
    return error_message(ErrorKind::Usage, [&] { prune_model(model, options); });
  };
  for (const double level : {-0.1, 1.0, 2.0, std::nan("")})
    EXPECT_THAT(message({.level = level}), HasSubstr("a share from 0 to below 1")) << level;
  EXPECT_THAT(message({.round_to = 0}), HasSubstr("multiples of 0"));
  EXPECT_THAT(message({.keep = {{"conv9", 1}}}), HasSubstr("no group 'conv9'"));
  EXPECT_THAT(message({.keep = {{"conv1", 17}}}), HasSubstr("cannot keep 17 of its 16 channels"));
  EXPECT_THAT(message({.level = 0.5, .criterion = PruneCriterion::Activation}),
              HasSubstr("the activity of 'relu1' is missing"));
  EXPECT_THAT(error_message(ErrorKind::BadInput,
                            [] {
                              prune_model(filters({1, std::nanf(""), 2, 3}), {.level = 0.5});
                            }),
              HasSubstr("'w' has a number that is not finite"));
  EXPECT_THROW(prune_criterion_named("l3"), Error);
  EXPECT_THROW(prune_ranking_named("local"), Error);
}

TEST(Prune, AModelWithNothingToPruneSaysWhy) {
  EXPECT_THAT(
      error_message(ErrorKind::BadInput, [] { prune_model(zoo_model("lstm"), {.level = 0.5}); }),
      HasSubstr("'output' is an output of the model"));
  GraphBuilder builder("relu");
  builder.output(Relu()(builder, builder.input("x", DataType::Float32, Shape{2})), "y");
  const Graph relu = builder.finish();
  EXPECT_THAT(error_message(ErrorKind::BadInput, [&] { prune_model(relu, {.level = 0.5}); }),
              HasSubstr("no layer has weights"));
  EXPECT_EQ(prune_model(relu, {.level = 0}).graph, relu);
}

TEST(Prune, AQuantisedModelIsRefused) {
  const Graph quantised = quantize_weights(zoo_model("mlp")).graph;
  EXPECT_THAT(error_message(ErrorKind::BadInput, [&] { prune_model(quantised, {.level = 0.5}); }),
              HasSubstr("quantised already"));
}

TEST(Prune, AllZeroChannelsGoFirst) {
  EXPECT_THAT(kept_filters(filters({0, 0, 1, 1, 0, 0, 2, 2}), {.level = 0.5}),
              ElementsAre(1, 1, 2, 2));
  EXPECT_THAT(kept_filters(filters({0, 0, 0, 0}), {.level = 0.5}), ElementsAre(0, 0));
}

}  // namespace
}  // namespace assay
