#include "assay/prune.h"

#include <gmock/gmock.h>

#include "assay/builder.h"
#include "assay/error.h"
#include "assay/infer.h"
#include "assay/layers.h"
#include "assay/verify.h"
#include "assay/zoo.h"

namespace assay {
namespace {

using testing::ElementsAre;

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

}  // namespace
}  // namespace assay
