#include "assay/prune_measured.h"

#include <gmock/gmock.h>

#include "assay/builder.h"
#include "assay/error.h"
#include "assay/low_rank_measured.h"
#include "assay/train.h"
#include "assay/zoo.h"
#include "support/error_message.h"

namespace assay {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

const ProgramOptions kReference = {.engine = "reference"};

// Two channels: x and -2x, then a batch norm, ReLU, and a sum.
Graph two_channels(std::int64_t opset = 17) {
  GraphBuilder builder("two", 0, opset);
  ValueId x = builder.input("x", DataType::Float32, Shape{Dim::symbol("N"), 1, 1, 2});
  x = builder.node("Conv", "a",
                   {x, builder.constant("w", Tensor::of_float({2, 1, 1, 1}, {1, -2}))});
  x = builder.node("BatchNormalization", "norm",
                   {x, builder.filled("scale", {2}, 1), builder.filled("bias", {2}, 0),
                    builder.filled("mean", {2}, 0), builder.filled("var", {2}, 1)},
                   {{"epsilon", 0.0f}});
  x = builder.node("Relu", "relu", {x});
  builder.output(builder.node("Conv", "last", {x, builder.filled("v", {1, 2, 1, 1}, 1)}), "y");
  return builder.finish();
}

std::vector<float> floats(const Graph& graph, const char* name) {
  return graph.initializer(*graph.find_value(name))->to_vector<float>();
}

const std::vector<InputBatch> kBatches = {{Tensor::of_float({1, 1, 1, 2}, {1, 3})},
                                          {Tensor::of_float({1, 1, 1, 2}, {-2, 0})}};

// Behind the ReLU: channel 0 has (1 + 3 + 0 + 0)/4 = 1, channel 1 has (0 + 0 + 4 + 0)/4 = 1.
TEST(PruneMeasured, ActivityIsTheMeanMagnitudeBehindTheActivation) {
  const ChannelActivity activity = measure_activity(two_channels(), kBatches, kReference);
  ASSERT_EQ(activity.size(), 1u);
  EXPECT_THAT(activity.at("relu"), ElementsAre(DoubleNear(1, 1e-6), DoubleNear(1, 1e-6)));
  const ChannelActivity first =
      measure_activity(two_channels(), std::span(kBatches).first(1), kReference);
  // (1 + 3)/2 and 0: the second channel is the one to go, although its weight is larger.
  EXPECT_THAT(first.at("relu"), ElementsAre(DoubleNear(2, 1e-6), 0));
  const PruneResult result = prune_model(
      two_channels(), {.level = 0.5, .criterion = PruneCriterion::Activation, .activity = first});
  EXPECT_THAT(floats(result.graph, "w"), ElementsAre(1));
}

// Of 1, 3, -2, 0: mean 0.5, variance (0.25 + 6.25 + 6.25 + 0.25)/4 = 3.25.
TEST(PruneMeasured, RecalibratedNormsHaveTheStatisticsOfAllBatches) {
  for (const std::int64_t opset : {11, 17}) {
    const RecalibratedModel result =
        recalibrate_batch_norms(two_channels(opset), kBatches, kReference);
    EXPECT_THAT(result.norms, ElementsAre("norm"));
    EXPECT_THAT(floats(result.graph, "mean"), ElementsAre(0.5f, -1.0f));
    EXPECT_THAT(floats(result.graph, "var"), ElementsAre(3.25f, 4 * 3.25f));
    EXPECT_EQ(result.graph.outputs().size(), 1u);
  }
}

TEST(PruneMeasured, AModelWithoutBatchNormsStaysAsItIs) {
  const Graph model = zoo_model("mlp");
  const std::vector<InputBatch> batches = {
      {Tensor::of_float({1, 784}, std::vector<float>(784, 0.5f))}};
  const RecalibratedModel result = recalibrate_batch_norms(model, batches, kReference);
  EXPECT_TRUE(result.norms.empty());
  EXPECT_EQ(result.graph, model);
}

TEST(PruneMeasured, MissingDataIsRefused) {
  EXPECT_THAT(error_message(ErrorKind::Usage, [] { measure_activity(two_channels(), {}); }),
              HasSubstr("no data"));
  const std::vector<InputBatch> empty = {{}};
  EXPECT_THAT(
      error_message(ErrorKind::Usage, [&] { recalibrate_batch_norms(two_channels(), empty); }),
      HasSubstr("0 tensors, the model 1 inputs"));
}

TEST(PruneMeasured, WidthsAreAmongThoseTimedAndFitTheModel) {
  const Graph model = zoo_model("small_cnn");
  const PruneOptions pruning{.level = 0.5};
  const MeasuredWidths widths = measure_widths(
      model, pruning, {.multiples = {1, 8}, .runs = 3, .program = {.cpu = {.threads = 1}}});
  ASSERT_EQ(widths.groups.size(), 2u);
  for (const GroupWidths& group : widths.groups) {
    ASSERT_EQ(group.timed.size(), 3u);
    EXPECT_EQ(group.timed.back().kept, group.name == "conv1" ? 16 : 32);
    EXPECT_EQ(widths.keep.at(group.name), group.kept);
    EXPECT_TRUE(std::ranges::any_of(group.timed,
                                    [&](const TimedWidth& one) { return one.kept == group.kept; }));
  }
  EXPECT_GT(widths.original_ms, 0);
  EXPECT_LE(widths.pruned_ms, widths.original_ms);
  PruneOptions chosen = pruning;
  chosen.keep = widths.keep;
  for (const PrunedGroup& group : prune_model(model, chosen).groups) {
    EXPECT_EQ(group.kept, group.frozen.empty() ? widths.keep.at(group.name) : group.channels);
  }
}

TEST(PruneMeasured, LayersAreFactorisedOnlyWhereTheyBecameFaster) {
  const Graph model = zoo_model("mlp");
  const MeasuredLowRank result = factorize_where_faster(
      model, {.share = 0.25, .smallest = 64}, {.runs = 3, .program = {.cpu = {.threads = 1}}});
  ASSERT_EQ(result.layers.size(), 2u);  // 784×256 and 256×128; the last is 128×10
  std::size_t factorised = 0;
  for (const TimedLowRankLayer& timed : result.layers) {
    EXPECT_GT(timed.original_ms, 0);
    EXPECT_GT(timed.factorised_ms, 0);
    EXPECT_EQ(timed.layer.factorised, timed.factorised_ms < timed.original_ms * 0.97);
    factorised += timed.layer.factorised ? 1 : 0;
  }
  EXPECT_EQ(result.graph.node_count(), model.node_count() + factorised);
}

// Pruned by half, a network learns again as any other does.
TEST(PruneMeasured, APrunedModelTrains) {
  const Dataset data = load_dataset("synthetic", {.size = 256});
  const Graph pruned = structured_channel_prune(zoo_model("small_cnn"), 0.5);
  const TrainResult result = train_model(pruned, data, nullptr, {.epochs = 2, .batch_size = 32});
  EXPECT_LT(result.epochs.back().loss, result.epochs.front().loss);
}

}  // namespace
}  // namespace assay
