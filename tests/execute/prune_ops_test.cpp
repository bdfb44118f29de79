// Channels followed through one op after the other: each small network is pruned by half and
// compared with the original whose channels are zero.
#include <gmock/gmock.h>

#include "assay/builder.h"
#include "assay/error.h"
#include "assay/layers.h"
#include "assay/text_form.h"
#include "execute/prune_oracle.h"

namespace assay {
namespace {

using testing::ElementsAre;
using Ints = std::vector<std::int64_t>;

const ProgramOptions kReference = {.engine = "reference"};

ValueId image(GraphBuilder& builder) {
  return builder.input("x", DataType::Float32, Shape{2, 3, 6, 6});
}

ValueId conv(GraphBuilder& builder, const std::string& name, ValueId x, std::int64_t in,
             std::int64_t out, std::int64_t groups = 1) {
  return Conv2d(in, out, 3, {.padding = 1, .groups = groups, .name = name})(builder, x);
}

const PrunedGroup& group_of(const std::vector<PrunedGroup>& groups, const std::string& layer) {
  for (const PrunedGroup& group : groups) {
    for (const std::string& one : group.layers) {
      if (one == layer) return group;
    }
  }
  throw Error(ErrorKind::BadInput, "no group with " + layer);
}

// The groups, after the comparison.
std::vector<PrunedGroup> halved(GraphBuilder& builder, double level = 0.5) {
  const Graph graph = builder.finish();
  const PruneOptions options{.level = level};
  const Difference difference = compare_with_zeroed(graph, options, kReference);
  const PruneResult result = prune_model(graph, options);
  EXPECT_TRUE(difference.same_shapes) << to_text(result.graph);
  EXPECT_LE(difference.largest, 1e-5) << difference.where << "\n" << to_text(result.graph);
  return result.groups;
}

TEST(PrunedOps, DepthwiseFiltersGoWithTheirChannel) {
  GraphBuilder builder("depthwise");
  ValueId x = conv(builder, "a", image(builder), 3, 8);
  x = conv(builder, "depthwise", Relu()(builder, x), 8, 8, 8);
  builder.output(conv(builder, "last", x, 8, 2), "y");
  const auto groups = halved(builder);
  EXPECT_THAT(group_of(groups, "a").layers, ElementsAre("a", "depthwise"));
  EXPECT_EQ(group_of(groups, "a").kept, 4);
}

// Two filters for each input channel: a channel takes both with it.
TEST(PrunedOps, ADepthwiseMultiplierKeepsItsFiltersTogether) {
  GraphBuilder builder("multiplier");
  ValueId x = conv(builder, "a", image(builder), 3, 8);
  x = conv(builder, "depthwise", x, 8, 16, 8);
  builder.output(conv(builder, "last", x, 16, 2), "y");
  EXPECT_EQ(group_of(halved(builder), "depthwise").channels, 8);
}

// 4 groups of 2 channels: whole groups go. 2 groups of 8: the same places of both.
TEST(PrunedOps, GroupedConvolutionsLoseGroupsOrTheSamePlacesOfEach) {
  GraphBuilder many("many");
  ValueId x = conv(many, "a", image(many), 3, 8);
  x = conv(many, "grouped", x, 8, 12, 4);
  many.output(conv(many, "last", x, 12, 2), "y");
  EXPECT_EQ(group_of(halved(many), "grouped").channels, 4);

  GraphBuilder few("few");
  x = conv(few, "a", image(few), 3, 16);
  x = conv(few, "grouped", x, 16, 12, 2);
  few.output(conv(few, "last", x, 12, 2), "y");
  const auto groups = halved(few);
  EXPECT_EQ(group_of(groups, "a").channels, 8);
  EXPECT_EQ(group_of(groups, "grouped").channels, 6);
}

ValueId transposed_conv(GraphBuilder& builder, const std::string& name, ValueId x, Ints weights,
                        std::int64_t groups) {
  const std::int64_t out = weights[1] * groups;
  return builder.node("ConvTranspose", name,
                      {x, builder.weight(name + ".w", std::move(weights), 0.2),
                       builder.weight(name + ".b", {out}, 0.2)},
                      {{"group", groups}});
}

TEST(PrunedOps, TransposedConvolutionsStoreOutputsOnTheSecondAxis) {
  for (const std::int64_t groups : {1, 2, 8}) {
    GraphBuilder builder("transposed");
    ValueId x = conv(builder, "a", image(builder), 3, 8);
    x = transposed_conv(builder, "up", x, {8, groups == 8 ? 1 : 6, 2, 2}, groups);
    builder.output(conv(builder, "last", x, groups == 8 ? 8 : 6 * groups, 2), "y");
    EXPECT_EQ(group_of(halved(builder), "up").kept, groups == 8 ? 4 : 3) << groups;
  }
}

TEST(PrunedOps, ConcatenatedLayersLoseChannelsOnTheirOwn) {
  GraphBuilder builder("dense");
  const ValueId x = image(builder);
  const ValueId a = conv(builder, "a", x, 3, 6);
  const ValueId both = builder.node("Concat", "both", {x, a}, {{"axis", std::int64_t{1}}});
  const ValueId b = conv(builder, "b", both, 9, 4);
  const ValueId all = builder.node("Concat", "all", {a, b}, {{"axis", std::int64_t{1}}});
  builder.output(conv(builder, "last", all, 10, 2), "y");
  const auto groups = halved(builder);
  EXPECT_EQ(group_of(groups, "a").kept, 3);
  EXPECT_EQ(group_of(groups, "b").kept, 2);
}

// Half of the channels gate the other half: they go in pairs.
TEST(PrunedOps, AGatedLinearUnitLosesPairs) {
  for (const std::int64_t opset : {11, 17, 18}) {
    GraphBuilder builder("gated", 0, opset);
    const ValueId x = conv(builder, "a", image(builder), 3, 8);
    const auto parts = builder.node_with_outputs(
        "Split", "parts", {x}, 2,
        opset == 18
            ? std::vector<Attribute>{{"axis", std::int64_t{1}}, {"num_outputs", std::int64_t{2}}}
            : std::vector<Attribute>{{"axis", std::int64_t{1}}});
    const ValueId gate = Sigmoid()(builder, parts[1]);
    builder.output(conv(builder, "last", builder.node("Mul", "gated", {parts[0], gate}), 4, 2),
                   "y");
    const auto groups = halved(builder);
    EXPECT_EQ(group_of(groups, "a").channels, 4);
    EXPECT_EQ(group_of(groups, "a").width, 2);
  }
}

TEST(PrunedOps, UnequalPartsGetNewSizes) {
  GraphBuilder builder("parts");
  const ValueId x = conv(builder, "a", image(builder), 3, 9);
  const auto parts = builder.node_with_outputs("Split", "parts", {x, builder.ints("sizes", {2, 7})},
                                               2, {{"axis", std::int64_t{1}}});
  const ValueId sum = builder.node(
      "Add", "sum", {conv(builder, "b", parts[0], 2, 4), conv(builder, "c", parts[1], 7, 4)});
  builder.output(conv(builder, "last", sum, 4, 2), "y");
  halved(builder, 0.6);
}

TEST(PrunedOps, ASliceOfChannelsMovesItsLimits) {
  GraphBuilder builder("slice");
  const ValueId x = conv(builder, "a", image(builder), 3, 9);
  const ValueId part = builder.node(
      "Slice", "part",
      {x, builder.ints("starts", {2}), builder.ints("ends", {-1}), builder.ints("axes", {1})});
  builder.output(
      builder.node("Add", "sum", {conv(builder, "b", part, 6, 2), conv(builder, "c", x, 9, 2)}),
      "y");
  EXPECT_EQ(group_of(halved(builder), "a").kept, 4);  // round(9 · 0.5), a tie to the even
}

// Channels 0…7 as 2 groups of 4, interleaved: channel j of both groups goes.
TEST(PrunedOps, AChannelShuffleLosesThePlaceInEveryGroup) {
  GraphBuilder builder("shuffle");
  ValueId x = conv(builder, "a", image(builder), 3, 8);
  x = builder.node("Reshape", "split", {x, builder.ints("s1", {2, 2, 4, 6, 6})});
  x = builder.node("Transpose", "turn", {x}, {{"perm", Ints{0, 2, 1, 3, 4}}});
  x = builder.node("Reshape", "merge", {x, builder.ints("s2", {2, -1, 6, 6})});
  builder.output(conv(builder, "last", x, 8, 2), "y");
  const auto groups = halved(builder);
  EXPECT_EQ(group_of(groups, "a").channels, 4);
  EXPECT_EQ(group_of(groups, "a").kept, 2);
}

TEST(PrunedOps, FlattenMapsAChannelToAllItsPositions) {
  GraphBuilder builder("flatten");
  ValueId x = conv(builder, "a", image(builder), 3, 4);
  x = Flatten()(builder, x);
  builder.set_rank(x, 2);
  x = Linear(4 * 36, 6, {.name = "b"})(builder, x);
  x = builder.node("LayerNormalization", "norm",
                   {x, builder.weight("g", {6}, 1), builder.weight("h", {6}, 1)});
  builder.set_rank(x, 2);
  builder.output(Linear(6, 2, {.name = "last"})(builder, x), "y");
  const auto groups = halved(builder);
  EXPECT_EQ(group_of(groups, "a").kept, 2);
  EXPECT_EQ(group_of(groups, "b").kept, 3);
}

// What exporters wrote before there was LayerNormalization.
TEST(PrunedOps, ALayerNormOfSmallOpsIsOverWhatIsLeft) {
  GraphBuilder builder("norm");
  ValueId x = builder.input("x", DataType::Float32, Shape{3, 5});
  x = builder.node("MatMul", "a", {x, builder.weight("w", {5, 8}, 1)});
  const ValueId mean = builder.node("ReduceMean", "mean", {x}, {{"axes", Ints{-1}}});
  const ValueId centred = builder.node("Sub", "centred", {x, mean});
  const ValueId square = builder.node("Mul", "square", {centred, centred});
  const ValueId variance = builder.node("ReduceMean", "variance", {square}, {{"axes", Ints{-1}}});
  const ValueId scale = builder.node(
      "Sqrt", "deviation", {builder.node("Add", "plus", {variance, builder.scalar("eps", 1e-3f)})});
  x = builder.node("Div", "norm", {centred, scale});
  x = builder.node("Mul", "scaled", {x, builder.weight("gamma", {8}, 1)});
  builder.output(builder.node("MatMul", "last", {x, builder.weight("v", {8, 2}, 1)}), "y");
  EXPECT_EQ(group_of(halved(builder), "a").kept, 4);
}

// Queries, keys and values of one product, as [batch, tokens, 3, heads, width].
TEST(PrunedOps, AttentionLosesWholeHeads) {
  GraphBuilder builder("attention");
  ValueId x = builder.input("x", DataType::Float32, Shape{2, 5, 12});
  x = builder.node("MatMul", "qkv", {x, builder.weight("w", {12, 36}, 0.5)});
  x = builder.node("Reshape", "heads", {x, builder.ints("shape", {2, 5, 3, 4, 3})});
  x = builder.node("Transpose", "turned", {x}, {{"perm", Ints{2, 0, 3, 1, 4}}});
  const auto part = [&](const std::string& name, std::int64_t i) {
    return builder.node("Gather", name,
                        {x, builder.constant(name + ".i", Tensor::of_int64({}, {i}))},
                        {{"axis", std::int64_t{0}}});
  };
  const ValueId q = part("q", 0), k = part("k", 1), v = part("v", -1);
  const ValueId turned = builder.node("Transpose", "kt", {k}, {{"perm", Ints{0, 1, 3, 2}}});
  const ValueId scores = builder.node("MatMul", "scores", {q, turned});
  const ValueId biased =
      builder.node("Add", "biased", {scores, builder.weight("position", {1, 4, 5, 5}, 1)});
  const ValueId shares = Softmax(-1)(builder, biased);
  ValueId y = builder.node("MatMul", "context", {shares, v});
  y = builder.node("Transpose", "back", {y}, {{"perm", Ints{0, 2, 1, 3}}});
  y = builder.node("Reshape", "merged", {y, builder.ints("shape2", {2, 5, 12})});
  builder.output(builder.node("MatMul", "last", {y, builder.weight("o", {12, 12}, 0.5)}), "y");
  const auto groups = halved(builder);
  EXPECT_EQ(group_of(groups, "qkv").channels, 4);  // heads
  EXPECT_EQ(group_of(groups, "qkv").kept, 2);
  EXPECT_EQ(group_of(groups, "qkv").width, 3 * 3);
}

TEST(PrunedOps, RecurrentLayersLoseHiddenUnits) {
  const std::pair<const char*, std::int64_t> kinds[] = {{"LSTM", 4}, {"GRU", 3}, {"RNN", 1}};
  for (const auto& [op, gates] : kinds) {
    for (const std::int64_t directions : {1, 2}) {
      GraphBuilder builder("recurrent");
      const ValueId x = builder.input("x", DataType::Float32, Shape{3, 2, 5});
      const ValueId wide = builder.node("MatMul", "a", {x, builder.weight("wide", {5, 4}, 1)});
      const auto states = builder.node_with_outputs(
          op, "layer",
          {wide, builder.weight("w", {directions, gates * 6, 4}, 0.5),
           builder.weight("r", {directions, gates * 6, 6}, 0.5),
           builder.weight("b", {directions, 2 * gates * 6}, 0.5)},
          2,
          {{"hidden_size", std::int64_t{6}},
           {"direction", std::string(directions == 1 ? "forward" : "bidirectional")}});
      ValueId y = builder.node("Transpose", "turned", {states[0]}, {{"perm", Ints{0, 2, 1, 3}}});
      y = builder.node("Reshape", "joined", {y, builder.ints("shape", {3, 2, -1})});
      builder.output(
          builder.node("MatMul", "last", {y, builder.weight("v", {6 * directions, 2}, 1)}), "y");
      const auto groups = halved(builder);
      EXPECT_EQ(group_of(groups, "layer").kept, 3) << op;
      EXPECT_EQ(group_of(groups, "a").kept, 2) << op;
    }
  }
}

// As exporters write it: gates sliced out of one stored tensor, states expanded to the batch. Such
// small constants are known before the model runs, and lose channels all the same.
TEST(PrunedOps, WeightsThatAreSlicedAndExpandedFirstFollow) {
  GraphBuilder builder("sliced");
  const ValueId x = builder.input("x", DataType::Float32, Shape{3, 2, 5});
  const ValueId axis = builder.ints("axis", {0});
  // GRU's gates z, r, h out of a tensor that has r, z, h.
  const auto gates = [&](const std::string& name, Ints dims) {
    dims.insert(dims.begin(), 3 * 6);
    const ValueId stored = builder.weight(name, dims, 0.5);
    std::vector<ValueId> parts;
    for (const std::int64_t first : {6, 0, 12}) {
      const std::string part = name + std::to_string(first);
      parts.push_back(builder.node("Slice", part,
                                   {stored, builder.ints(part + "_from", {first}),
                                    builder.ints(part + "_to", {first + 6}), axis}));
    }
    return builder.node("Concat", name + "_joined", parts, {{"axis", std::int64_t{0}}});
  };
  const ValueId biases = builder.node("Concat", "biases", {gates("bw", {}), gates("br", {})},
                                      {{"axis", std::int64_t{0}}});
  const auto unsqueezed = [&](const std::string& name, ValueId value) {
    return builder.node("Unsqueeze", name, {value, axis});
  };
  const ValueId state = builder.node(
      "Expand", "state", {builder.weight("first", {1, 1, 6}, 1), builder.ints("to", {1, 2, 6})});
  const auto states = builder.node_with_outputs(
      "GRU", "layer",
      {x, unsqueezed("w3", gates("w", {5})), unsqueezed("r3", gates("r", {6})),
       unsqueezed("b3", biases), ValueId{}, state},
      2, {{"hidden_size", std::int64_t{6}}, {"linear_before_reset", std::int64_t{1}}});
  builder.output(builder.node("MatMul", "last", {states[1], builder.weight("v", {6, 2}, 1)}), "y");
  EXPECT_EQ(group_of(halved(builder), "layer").kept, 3);
}

// The table is looked up by row, and its transpose scores the rows.
TEST(PrunedOps, ATiedEmbeddingLosesColumns) {
  GraphBuilder builder("tied");
  const ValueId ids = builder.input("ids", DataType::Int64, Shape{2, 3});
  const ValueId table = builder.weight("table", {20, 8}, 1);
  ValueId x = builder.node("Gather", "embedded", {table, ids});
  x = builder.node("Add", "placed", {x, builder.weight("positions", {1, 3, 8}, 1)});
  const ValueId turned = builder.node("Transpose", "turned", {table}, {{"perm", Ints{1, 0}}});
  builder.output(builder.node("MatMul", "head", {x, turned}), "y");
  const auto groups = halved(builder);
  EXPECT_EQ(group_of(groups, "embedded").kept, 4);
  EXPECT_EQ(group_of(groups, "head").frozen, "Gather 'embedded' looks positions up in it");
}

TEST(PrunedOps, EinsumFollowsItsLetters) {
  GraphBuilder builder("einsum");
  ValueId x = builder.input("x", DataType::Float32, Shape{2, 5, 4});
  x = builder.node("Einsum", "a", {x, builder.weight("w", {4, 6}, 1)},
                   {{"equation", std::string("bti, ij -> bjt")}});
  builder.output(builder.node("Einsum", "last", {x, builder.weight("v", {3, 6}, 1)},
                              {{"equation", std::string("bjt,kj->btk")}}),
                 "y");
  EXPECT_EQ(group_of(halved(builder), "a").kept, 3);
}

TEST(PrunedOps, BlocksOfChannelsAndImagesFollow) {
  for (const char* mode : {"DCR", "CRD"}) {
    GraphBuilder builder("blocks");
    ValueId x = conv(builder, "a", image(builder), 3, 16);
    x = builder.node("DepthToSpace", "up", {x},
                     {{"blocksize", std::int64_t{2}}, {"mode", std::string(mode)}});
    x = builder.node("SpaceToDepth", "down", {x}, {{"blocksize", std::int64_t{2}}});
    builder.output(conv(builder, "last", x, 16, 2), "y");
    EXPECT_EQ(group_of(halved(builder), "a").channels, 4) << mode;
  }
}

// A class token for every sample: the shape to expand it to holds the old width.
TEST(PrunedOps, LengthsThatAreComputedFollow) {
  GraphBuilder builder("token");
  const ValueId image = builder.input("x", DataType::Float32, Shape{Dim::symbol("N"), 3, 6, 6});
  ValueId x = conv(builder, "a", image, 3, 8);
  const ValueId batch =
      builder.node("Shape", "batch", {x}, {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}});
  const ValueId rows = builder.node("Concat", "rows", {batch, builder.ints("rest", {8, 36})},
                                    {{"axis", std::int64_t{0}}});
  x = builder.node("Transpose", "tokens", {builder.node("Reshape", "flat", {x, rows})},
                   {{"perm", Ints{0, 2, 1}}});
  const ValueId shape = builder.node("Concat", "shape", {batch, builder.ints("rest2", {1, 8})},
                                     {{"axis", std::int64_t{0}}});
  const ValueId token =
      builder.node("Expand", "token", {builder.weight("class", {1, 1, 8}, 1), shape});
  x = builder.node("Concat", "all", {token, x}, {{"axis", std::int64_t{1}}});
  builder.output(builder.node("MatMul", "last", {x, builder.weight("v", {8, 2}, 1)}), "y");
  EXPECT_EQ(group_of(halved(builder), "a").kept, 4);
}

TEST(PrunedOps, ChannelsPassPaddingResizingAndRepetition) {
  GraphBuilder builder("passing");
  ValueId x = conv(builder, "a", image(builder), 3, 8);
  x = builder.node("Pad", "pad", {x, builder.ints("pads", {0, 0, 1, 1, 0, 0, 0, 0})});
  x = builder.node("Clip", "clip", {x, builder.scalar("low", -0.5f), builder.scalar("high", 0.5f)});
  x = builder.node("Resize", "resize", {x, {}, {}, builder.ints("sizes", {2, 8, 14, 14})});
  x = builder.node("Tile", "tile", {x, builder.ints("repeats", {1, 2, 1, 1})});
  x = builder.node("PRelu", "prelu", {x, builder.weight("slope", {16, 1, 1}, 1)});
  const ValueId gate =
      builder.node("Sigmoid", "gate", {builder.node("GlobalAveragePool", "mean", {x})});
  builder.output(conv(builder, "last", builder.node("Mul", "gated", {x, gate}), 16, 2), "y");
  EXPECT_EQ(group_of(halved(builder), "a").kept, 4);
}

TEST(PrunedOps, WhatNeedsAllChannelsFreezesThem) {
  GraphBuilder builder("frozen");
  const ValueId x = image(builder);
  ValueId a =
      builder.node("Softmax", "shares", {conv(builder, "a", x, 3, 8)}, {{"axis", std::int64_t{1}}});
  const ValueId b = builder.node("Add", "sum", {conv(builder, "b", a, 8, 3), x});
  builder.output(conv(builder, "last", conv(builder, "c", b, 3, 4), 4, 2), "y");
  const auto groups = halved(builder);
  EXPECT_EQ(group_of(groups, "a").frozen, "Softmax 'shares' needs all of it");
  EXPECT_EQ(group_of(groups, "b").frozen,
            "Add 'sum' combines it with an axis that cannot be pruned");
  EXPECT_EQ(group_of(groups, "b").kept, 3);
  EXPECT_EQ(group_of(groups, "c").kept, 2);
}

}  // namespace
}  // namespace assay
