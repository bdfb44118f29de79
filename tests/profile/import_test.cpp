#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "assay/import_profile.h"
#include "assay/zoo.h"
#include "profile/import/alignment.h"
#include "profile/import/join.h"
#include "profile/import/node_names.h"
#include "profile/import/op_kinds.h"
#include "support/error_message.h"

namespace assay {
namespace {

using namespace assay::profile;
using testing::ElementsAre;

// conv1 relu1 pool1 conv2 relu2 pool2 flatten classifier
Graph small() {
  return infer_shapes(zoo_model("small_cnn")).graph;
}

RuntimeKernel kernel(std::string name, std::string op) {
  RuntimeKernel one{.name = name, .op = std::move(op), .node_names = {std::move(name)}};
  one.run_ms = {1.0};
  return one;
}

TEST(Alignment, TakesTheBestPairsInOrder) {
  const std::string a = "xcaybd";
  const std::string b = "cabd";
  const auto pairs =
      align(a.size(), b.size(), [&](std::size_t i, std::size_t j) { return a[i] == b[j] ? 1 : 0; });
  ASSERT_EQ(pairs.size(), 4u);
  EXPECT_EQ(pairs.front(), (std::pair<std::size_t, std::size_t>(1, 0)));
  EXPECT_TRUE(align(0, 3, [](std::size_t, std::size_t) { return 1; }).empty());
}

TEST(OpKinds, OperatorsOfEveryRuntimeMeet) {
  for (const char* op : {"Conv", "FusedConv", "GroupConvolution", "DEPTHWISE_CONV_2D", "conv2d"}) {
    EXPECT_EQ(op_kind(op), "conv") << op;
  }
  EXPECT_EQ(op_kind("com.microsoft.FusedGemm"), op_kind("addmm"));
  EXPECT_TRUE(may_stand_for(op_kind("BiasGelu"), op_kind("Erf")));
  EXPECT_FALSE(may_stand_for("conv", "matmul"));
  EXPECT_FALSE(may_stand_for("", ""));
}

TEST(NodeNames, AnExtendedNameIsTheLongestNode) {
  Graph graph;
  const ValueId x = graph.add_value("x", tensor_type(DataType::Float32, Shape{1}));
  graph.add_input(x);
  for (const char* name : {"conv_1", "conv_12", "Add"}) {
    const ValueId y = graph.add_value(std::string(name) + ".out");
    graph.add_node({.name = name, .op = "Relu", .domain = "", .inputs = {x}, .outputs = {y}});
  }
  const NodeNames names(graph);
  EXPECT_EQ(names.extended("conv_12_nchwc"), 1u);
  EXPECT_EQ(names.extended("conv_1/LayerNormFusion/"), 0u);
  EXPECT_EQ(names.exactly("conv_12.out"), 1u);
  EXPECT_EQ(names.extended("conv_123_nchwc"), std::nullopt);
  EXPECT_EQ(names.extended("Add_token_3"), std::nullopt);  // the runtime's own name
}

TEST(Join, AKernelNamedAfterItsLastNodeTakesTheConvolutionBefore) {
  const auto joined =
      join_kernels(small(), {kernel("relu1_nchwc", "Conv"), kernel("pool1", "MaxPool")});
  EXPECT_THAT(joined[0].nodes, ElementsAre(0, 1));
  EXPECT_EQ(joined[0].by, FoundBy::Name);
}

TEST(Join, KernelsWithoutAKnownNameAreFoundByOrderAndKind) {
  const auto joined =
      join_kernels(small(), {kernel("a", "conv2d"), kernel("b", "relu"), kernel("c", "max_pool2d"),
                             kernel("d", "conv2d"), kernel("e", "batch_norm"),
                             kernel("f", "linear"), kernel("g", "sparse_magic")});
  EXPECT_EQ(joined[0].by, FoundBy::Position);
  EXPECT_EQ(joined[0].nodes.front(), 0u);
  EXPECT_EQ(joined[3].nodes.front(), 3u);
  EXPECT_EQ(joined[4].nodes.front(), 3u);  // folded into the convolution by the exporter
  EXPECT_EQ(joined[5].nodes.front(), 7u);
  EXPECT_EQ(joined[6].by, FoundBy::Nothing);
}

TEST(Join, ACopyBelongsToTheLayerThatItNames) {
  RuntimeKernel copy = kernel("copy", "Reorder");
  copy.is_layout_change = true;
  copy.node_names = {"conv2"};
  const auto joined =
      join_kernels(small(), {copy, kernel("conv1", "Conv"), kernel("conv2", "Conv")});
  EXPECT_THAT(joined[0].nodes, ElementsAre(3));
  EXPECT_EQ(joined[0].by, FoundBy::Name);
}

// "{ForeignNode[conv1.weight...pool1]}"
TEST(Join, ARegionMayBeginWithAStoredTensor) {
  RuntimeKernel region = kernel("region", "");
  region.is_region = true;
  const Graph graph = small();
  region.fused_names = {graph.value(graph.node(NodeId{0}).inputs[1]).name, "pool1"};
  EXPECT_THAT(join_kernels(graph, {region})[0].nodes, testing::IsSupersetOf({0u, 1u, 2u}));
}

// What the body of a node computed is not the node's own.
TEST(Join, ANodeWithABodyTakesNoNodesFromItsBody) {
  std::vector<RuntimeKernel> kernels = {kernel("If_0", "If"), kernel("conv1", "Conv"),
                                        kernel("pool1", "MaxPool"), kernel("inner", "If"),
                                        kernel("conv2", "Conv")};
  for (const std::size_t i : {1, 2, 3}) kernels[i].parent = 0;
  kernels[4].parent = 3;
  const auto joined = join_kernels(small(), kernels);
  EXPECT_THAT(joined[0].nodes, ElementsAre(0)) << "as its body's first kernel";
  EXPECT_THAT(joined[1].nodes, ElementsAre(0, 1)) << "with the activation";
  EXPECT_THAT(joined[3].nodes, ElementsAre(3));
}

TEST(Import, PartsSumToTheRunAndNothingIsDropped) {
  RuntimeTrace trace{.runtime = "Some Runtime", .file = "f", .has_whole_runs = true};
  trace.kernels = {kernel("conv1", "Conv"), kernel("conv2", "Conv"), kernel("classifier", "Gemm"),
                   kernel("telemetry", "Telemetry")};
  trace.runs_ms = {5.0};
  const Profile profile =
      import_profile(zoo_model("small_cnn"), "small_cnn", trace, {.threads = 1, .judge = false});
  double sum_ms = profile.between_steps_ms;
  for (const ProfileLayer& layer : profile.layers) sum_ms += layer.time_ms.value_or(0);
  EXPECT_DOUBLE_EQ(sum_ms, 5.0);
  EXPECT_DOUBLE_EQ(profile.imported->unattributed_ms, 1.0);
  EXPECT_DOUBLE_EQ(profile.imported->by_name_ms, 3.0);
  std::int64_t flops = 0;
  for (const ProfileStep& step : profile.steps) flops += step.info.executed_flops;
  EXPECT_EQ(flops, profile.totals.flops);  // every node's work counts once
}

TEST(Import, AProfileOfAnotherModelIsRefused) {
  RuntimeTrace trace{.runtime = "Some Runtime", .file = "f"};
  trace.kernels = {kernel("x", "LSTM"), kernel("y", "LSTM")};
  trace.runs_ms = {2.0};
  EXPECT_THAT(error_message(ErrorKind::BadInput,
                            [&] { import_profile(zoo_model("small_cnn"), "small_cnn", trace); }),
              testing::HasSubstr("0 of 2 kernels"));
}

}  // namespace
}  // namespace assay
