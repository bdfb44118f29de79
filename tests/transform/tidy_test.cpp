#include "assay/tidy.h"

#include <gmock/gmock.h>

#include "assay/builder.h"
#include "assay/infer.h"
#include "assay/verify.h"
#include "assay/zoo.h"

namespace assay {
namespace {

std::int64_t count_of_op(const Graph& graph, const std::string& op) {
  return std::ranges::count(graph.nodes(), op, &Node::op);
}

// Two equal branches, a node that nobody reads, one that passes its input on, and a constant
// product.
Graph untidy() {
  GraphBuilder builder("untidy");
  const ValueId x = builder.input("x", DataType::Float32, Shape{Dim::symbol("N"), 4});
  const ValueId a = builder.node("MatMul", "a", {x, builder.filled("w1", {4, 3}, 2)});
  const ValueId b = builder.node("MatMul", "b", {x, builder.filled("w2", {4, 3}, 2)});
  builder.node("Exp", "unread", {x});
  const ValueId same = builder.node("Identity", "idle", {b});
  const ValueId factor =
      builder.node("Mul", "constant", {builder.scalar("two", 2), builder.scalar("three", 3)});
  const ValueId sum = builder.node(
      "Add", "sum", {builder.node("Relu", "r1", {a}), builder.node("Relu", "r2", {same})});
  builder.output(builder.node("Mul", "scaled", {sum, factor}), "y");
  return builder.finish();
}

TEST(Tidy, WhatIsThereTwiceIsThereOnce) {
  const TidyResult result = tidy_model(untidy());
  verify(result.graph);
  EXPECT_EQ(result.idle_nodes, 2);      // Exp and Identity
  EXPECT_EQ(result.folded_nodes, 1);    // 2 · 3
  EXPECT_EQ(result.shared_tensors, 1);  // w2 is w1
  EXPECT_EQ(result.merged_nodes, 2);    // MatMul and Relu
  EXPECT_EQ(count_of_op(result.graph, "MatMul"), 1);
  EXPECT_EQ(count_of_op(result.graph, "Relu"), 1);
  EXPECT_EQ(result.graph.node_count(), 4u);  // MatMul, Relu, Add, Mul
  EXPECT_EQ(result.stored_bytes_before, (12 + 12 + 1 + 1) * 4);
  EXPECT_EQ(result.stored_bytes_after, (12 + 1) * 4);
  const Inferred model = infer_shapes(result.graph);
  EXPECT_FALSE(model.graph.value(model.graph.inputs()[0]).type.shape->is_known());
}

TEST(Tidy, LeavesWhatItIsToldToLeave) {
  const TidyResult separate = tidy_model(untidy(), {.shares = false});
  EXPECT_EQ(separate.shared_tensors, 0);
  EXPECT_EQ(count_of_op(separate.graph, "MatMul"), 2);
  const TidyResult small = tidy_model(untidy(), {.smallest_shared = 13});
  EXPECT_EQ(small.shared_tensors, 0);  // both have 12 elements
  const TidyResult unfolded = tidy_model(untidy(), {.folds = false});
  EXPECT_EQ(unfolded.folded_nodes, 0);
  EXPECT_EQ(count_of_op(unfolded.graph, "Mul"), 2);
}

TEST(Tidy, RandomNodesAreNeverMerged) {
  GraphBuilder builder("random");
  const std::vector<Attribute> shape = {{"shape", std::vector<std::int64_t>{2}}};
  const ValueId a = builder.node("RandomNormal", "a", {}, shape);
  const ValueId b = builder.node("RandomNormal", "b", {}, shape);
  builder.output(builder.node("Add", "sum", {a, b}), "y");
  EXPECT_EQ(tidy_model(builder.finish()).merged_nodes, 0);
}

// An output has its name, whoever computes the same.
TEST(Tidy, OutputsStay) {
  GraphBuilder builder("outputs");
  const ValueId x = builder.input("x", DataType::Float32, Shape{2});
  builder.output(builder.node("Relu", "a", {x}), "y");
  builder.output(builder.node("Relu", "b", {x}), "z");
  const TidyResult result = tidy_model(builder.finish());
  EXPECT_EQ(result.merged_nodes, 0);
  EXPECT_EQ(result.graph.outputs().size(), 2u);
}

TEST(Tidy, ATidyModelStaysAsItIs) {
  const Graph model = zoo_model("small_cnn");
  const TidyResult result = tidy_model(model);
  EXPECT_EQ(result.graph.node_count(), model.node_count());
  EXPECT_EQ(result.stored_bytes_after, result.stored_bytes_before);
}

}  // namespace
}  // namespace assay
