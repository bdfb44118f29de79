#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "assay/builder.h"
#include "assay/error.h"
#include "assay/memory.h"

namespace assay {
namespace {

constexpr std::int64_t kRow = 64;  // bytes of 16 floats: exactly one alignment unit

// Builds graphs whose values have their types written by hand, so that the planner is tested alone.
class Sketch {
 public:
  ValueId input(const std::string& name, Shape shape = {16}, DataType type = DataType::Float32) {
    return builder_.input(name, type, std::move(shape));
  }

  ValueId op(const std::string& name, std::vector<ValueId> inputs, Shape shape = {16},
             DataType type = DataType::Float32) {
    const ValueId id = builder_.node(name, name, std::move(inputs));
    types_[id.number] = tensor_type(type, std::move(shape));
    return id;
  }

  ValueId weight(const std::string& name, std::vector<std::int64_t> dims = {16}) {
    return builder_.weight(name, std::move(dims), 1.0);
  }

  GraphBuilder& builder() { return builder_; }
  void set_type(ValueId id, ValueType type) { types_[id.number] = std::move(type); }

  Inferred finish(const std::vector<ValueId>& outputs) {
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      builder_.output(outputs[i], "out" + std::to_string(i));
    }
    Inferred model;
    model.graph = builder_.finish();
    for (auto& [number, type] : types_) model.graph.value(ValueId{number}).type = std::move(type);
    model.known.resize(model.graph.value_count());
    return model;
  }

 private:
  GraphBuilder builder_{"sketch"};
  std::map<std::uint32_t, ValueType> types_;
};

using Bytes = std::vector<std::int64_t>;

bool share(const MemoryPlan& plan, ValueId a, ValueId b) {
  return plan.buffer_of[a.number] == plan.buffer_of[b.number];
}

TEST(Memory, AChainOfMatMulsHoldsTwoAtATime) {
  Sketch sketch;
  const ValueId x = sketch.input("x");
  const ValueId a = sketch.op("MatMul", {x, sketch.weight("w1", {16, 16})});
  const ValueId b = sketch.op("MatMul", {a, sketch.weight("w2", {16, 16})});
  const ValueId c = sketch.op("MatMul", {b, sketch.weight("w3", {16, 16})});
  const MemoryPlan plan = plan_memory(sketch.finish({c}));
  EXPECT_EQ(plan.live_bytes, (Bytes{2 * kRow, 2 * kRow, 2 * kRow}));
  EXPECT_EQ(plan.lower_bound_bytes, 2 * kRow);
  EXPECT_EQ(plan.arena_bytes, 2 * kRow);
  EXPECT_EQ(plan.buffers.size(), 4u);
  EXPECT_TRUE(plan.unplanned.empty());
}

TEST(Memory, SizesAreRoundedUpToTheAlignment) {
  Sketch sketch;
  const ValueId x = sketch.input("x", {3});  // 12 bytes
  const ValueId y = sketch.op("Softmax", {x}, {3});
  const Inferred model = sketch.finish({y});
  EXPECT_EQ(plan_memory(model).arena_bytes, 64 + 64);
  EXPECT_EQ(plan_memory(model, {.alignment = 8}).arena_bytes, 16 + 16);
  EXPECT_EQ(plan_memory(model, {.alignment = 1}).arena_bytes, 12 + 12);
}

TEST(Memory, AnActivationWritesOverItsInput) {
  Sketch sketch;
  const ValueId a = sketch.op("Softmax", {sketch.input("x")});
  const ValueId b = sketch.op("Relu", {a});
  const ValueId c = sketch.op("Sigmoid", {b});
  const MemoryPlan plan = plan_memory(sketch.finish({c}));
  EXPECT_TRUE(share(plan, a, b) && share(plan, b, c));
  EXPECT_EQ(plan.live_bytes, (Bytes{2 * kRow, kRow, kRow}));
  EXPECT_EQ(plan.buffers[1].first_step, 0u);
  EXPECT_EQ(plan.buffers[1].last_step, 2u);
}

TEST(Memory, TheCallersInputIsNeverOverwritten) {
  Sketch sketch;
  const ValueId x = sketch.input("x");
  const ValueId view = sketch.op("Reshape", {x, sketch.builder().ints("shape", {4, 4})}, {4, 4});
  const ValueId y = sketch.op("Relu", {view}, {4, 4});
  const MemoryPlan plan = plan_memory(sketch.finish({y}));
  EXPECT_TRUE(share(plan, x, view));
  EXPECT_FALSE(share(plan, x, y));
  EXPECT_EQ(plan.arena_bytes, 2 * kRow);
}

TEST(Memory, WhatIsReadLaterIsNotOverwritten) {
  Sketch sketch;
  const ValueId a = sketch.op("Softmax", {sketch.input("x")});
  const ValueId b = sketch.op("Relu", {a});
  const ValueId c = sketch.op("Add", {b, a});
  const MemoryPlan plan = plan_memory(sketch.finish({c}));
  EXPECT_FALSE(share(plan, a, b));
  EXPECT_TRUE(share(plan, b, c));
}

TEST(Memory, AViewAliveLaterKeepsItsBytesFromBeingOverwritten) {
  Sketch sketch;
  const ValueId a = sketch.op("Softmax", {sketch.input("x")});
  const ValueId view = sketch.op("Flatten", {a}, {1, 16});
  const ValueId b = sketch.op("Relu", {a});  // a is read here for the last time, its view is not
  const ValueId c = sketch.op("Concat", {view, b}, {32});
  const MemoryPlan plan = plan_memory(sketch.finish({c}));
  EXPECT_TRUE(share(plan, a, view));
  EXPECT_FALSE(share(plan, a, b));
}

TEST(Memory, AGraphOutputIsNotOverwrittenEvenByTheLastNode) {
  Sketch sketch;
  const ValueId a = sketch.op("Softmax", {sketch.input("x")});
  const ValueId b = sketch.op("Relu", {a});
  const MemoryPlan plan = plan_memory(sketch.finish({a, b}));
  EXPECT_FALSE(share(plan, a, b));
  EXPECT_EQ(plan.live_bytes, (Bytes{2 * kRow, 2 * kRow}));  // x and a; a and b
}

TEST(Memory, OnlyAnInputOfTheOutputsSizeIsOverwritten) {
  Sketch sketch;
  const ValueId small = sketch.op("Softmax", {sketch.input("x")});
  const ValueId large = sketch.op("MatMul", {sketch.input("y", {4, 16})}, {4, 16});
  const ValueId sum = sketch.op("Add", {small, large}, {4, 16});
  const MemoryPlan plan = plan_memory(sketch.finish({sum}));
  EXPECT_FALSE(share(plan, small, sum));
  EXPECT_TRUE(share(plan, large, sum));
}

TEST(Memory, ABroadcastToMoreBytesGetsABufferOfItsOwn) {
  Sketch sketch;
  const ValueId column = sketch.op("Softmax", {sketch.input("x", {16, 1})}, {16, 1});
  const ValueId row = sketch.op("Transpose", {column}, {1, 16});
  const ValueId sum = sketch.op("Add", {column, row}, {16, 16});
  const MemoryPlan plan = plan_memory(sketch.finish({sum}));
  EXPECT_FALSE(share(plan, column, sum) || share(plan, row, sum));
}

TEST(Memory, ASumOfManyOperandsDoesNotOverwriteWhatItReadsTwice) {
  for (const bool twice : {false, true}) {
    Sketch sketch;
    const ValueId a = sketch.op("Softmax", {sketch.input("x")});
    const ValueId b = sketch.op("LogSoftmax", {sketch.input("y")});
    const ValueId sum = sketch.op("Sum", {a, b, twice ? a : b});
    EXPECT_EQ(share(plan_memory(sketch.finish({sum})), a, sum), !twice);
  }
}

TEST(Memory, ABatchNormInTrainingKeepsItsInput) {
  for (const std::int64_t training : {0, 1}) {
    Sketch sketch;
    const ValueId a = sketch.op("Conv", {sketch.input("x", {1, 4, 2, 2})}, {1, 4, 2, 2});
    const ValueId b = sketch.builder().node("BatchNormalization", "bn",
                                            {a, sketch.weight("s", {4}), sketch.weight("b", {4}),
                                             sketch.weight("m", {4}), sketch.weight("v", {4})},
                                            {{"training_mode", training}});
    sketch.set_type(b, tensor_type(DataType::Float32, Shape{1, 4, 2, 2}));
    EXPECT_EQ(share(plan_memory(sketch.finish({b})), a, b), training == 0);
  }
}

TEST(Memory, ADropoutIsAViewUnlessItMayTrain) {
  Sketch sketch;
  const ValueId a = sketch.op("Softmax", {sketch.input("x")});
  const ValueId idle = sketch.op("Dropout", {a});
  const ValueId ratio = sketch.builder().scalar("ratio", 0.5f);
  const ValueId mode = sketch.input("mode", {}, DataType::Bool);
  const ValueId training = sketch.op("Dropout", {idle, ratio, mode});
  const MemoryPlan plan = plan_memory(sketch.finish({training}));
  EXPECT_TRUE(share(plan, a, idle));
  EXPECT_FALSE(share(plan, idle, training));
}

TEST(Memory, ConstantsAndWhatIsComputedFromThemTakeNoArena) {
  Sketch sketch;
  const ValueId x = sketch.input("x", {1, 16});
  const ValueId transposed = sketch.op("Transpose", {sketch.weight("w", {32, 16})}, {16, 32});
  const ValueId y = sketch.op("MatMul", {x, transposed}, {1, 32});
  const MemoryPlan plan = plan_memory(sketch.finish({y}));
  EXPECT_EQ(plan.buffer_of[transposed.number], MemoryPlan::kNoBuffer);
  EXPECT_EQ(plan.live_bytes, (Bytes{kRow, kRow + 2 * kRow}));
  EXPECT_EQ(plan.folded_bytes, 16 * 32 * 4);
}

TEST(Memory, ANodeWhoseOutputIsKnownKeepsNothingAlive) {
  Sketch sketch;
  const ValueId a = sketch.op("Softmax", {sketch.input("x")});
  const ValueId b = sketch.op("Relu", {a});
  const ValueId shape = sketch.op("Shape", {a}, {1}, DataType::Int64);
  const ValueId c = sketch.op("Reshape", {b, shape});
  Inferred model = sketch.finish({c});
  model.known[shape.number] = Tensor::of_int64({1}, {16});
  const MemoryPlan plan = plan_memory(model);
  EXPECT_TRUE(share(plan, a, b));  // although Shape stands after Relu
  EXPECT_EQ(plan.buffer_of[shape.number], MemoryPlan::kNoBuffer);
}

TEST(Memory, InputsLiveFromTheStartAndUnreadOutputsForOneStep) {
  Sketch sketch;
  const ValueId x = sketch.input("x");
  const ValueId late = sketch.input("late");
  const ValueId unread = sketch.op("Softmax", {x});
  const ValueId a = sketch.op("LogSoftmax", {x});
  const ValueId b = sketch.op("MatMul", {a, late});
  const MemoryPlan plan = plan_memory(sketch.finish({b}));
  // step 0: x, late, unread; 1: x, late, a; 2: late, a, b
  EXPECT_EQ(plan.live_bytes, (Bytes{3 * kRow, 3 * kRow, 3 * kRow}));
  EXPECT_EQ(plan.buffers[plan.buffer_of[late.number]].first_step, 0u);
  EXPECT_EQ(plan.buffers[plan.buffer_of[unread.number]].last_step, 0u);
}

TEST(Memory, AResidualBlockHoldsItsShortcut) {
  Sketch sketch;
  const ValueId x = sketch.op("Conv", {sketch.input("image")});
  const ValueId a = sketch.op("Conv", {x});
  const ValueId relu = sketch.op("Relu", {a});
  const ValueId b = sketch.op("Conv", {relu});
  const ValueId sum = sketch.op("Add", {b, x});
  const MemoryPlan plan = plan_memory(sketch.finish({sum}));
  // image, x | x, a | x, a | x, a, b | x, b
  EXPECT_EQ(plan.live_bytes, (Bytes{2 * kRow, 2 * kRow, 2 * kRow, 3 * kRow, 2 * kRow}));
  EXPECT_EQ(plan.arena_bytes, 3 * kRow);
}

TEST(Memory, ActivationsCanBeCountedInAnotherType) {
  Sketch sketch;
  const ValueId x = sketch.input("ids", {64}, DataType::Int64);
  const ValueId y = sketch.op("Gather", {sketch.weight("table", {9, 16}), x}, {64, 16});
  const Inferred model = sketch.finish({y});
  EXPECT_EQ(plan_memory(model).arena_bytes, 64 * 8 + 64 * 16 * 4);
  // Integers keep their width.
  EXPECT_EQ(plan_memory(model, {.stored_as = DataType::Float16}).arena_bytes, 64 * 8 + 64 * 16 * 2);
}

TEST(Memory, WhatHasNoKnownSizeIsListed) {
  Sketch sketch;
  const ValueId x = sketch.input("x");
  const ValueId open = sketch.op("NonZero", {x}, Shape{1, Dim()}, DataType::Int64);
  const ValueId text = sketch.op("Cast", {x}, {16}, DataType::String);
  const ValueId list = sketch.op("SequenceConstruct", {x});
  ValueType sequence;
  sequence.kind = ValueType::Kind::Sequence;
  sketch.set_type(list, sequence);
  const MemoryPlan plan = plan_memory(sketch.finish({open, text, list}));
  EXPECT_EQ(plan.unplanned, (std::vector<ValueId>{open, text, list}));
  EXPECT_EQ(plan.arena_bytes, kRow);
}

// A body that computes `floats` floats from the captured outer value, with a temporary of the same
// size.
GraphPtr body_with(std::int64_t floats, ValueId outer) {
  auto body = std::make_shared<Graph>();
  const auto type = tensor_type(DataType::Float32, Shape{floats});
  const ValueId captured = body->add_value("captured", tensor_type(DataType::Float32, Shape{16}));
  body->add_capture({.outer = outer, .inner = captured});
  const ValueId a = body->add_value("body_a" + std::to_string(floats), type);
  const ValueId b = body->add_value("body_b" + std::to_string(floats), type);
  body->add_node({.name = "a", .op = "Expand", .domain = "", .inputs = {captured}, .outputs = {a}});
  body->add_node({.name = "b", .op = "Softmax", .domain = "", .inputs = {a}, .outputs = {b}});
  body->add_output(b);
  return body;
}

TEST(Memory, TheLargestBranchIsHeldWhileItsNodeRuns) {
  Sketch sketch;
  const ValueId x = sketch.op("Softmax", {sketch.input("x")});
  const ValueId condition = sketch.input("condition", {}, DataType::Bool);
  const ValueId chosen =
      sketch.builder().node("If", "if", {condition},
                            {{"then_branch", body_with(16, x)}, {"else_branch", body_with(32, x)}});
  sketch.set_type(chosen, tensor_type(DataType::Float32, Shape{16}));
  const ValueId y = sketch.op("LogSoftmax", {chosen});
  const MemoryPlan plan = plan_memory(sketch.finish({y}));
  // The else branch holds 2 · 32 floats = 4 rows; beside it the captured x, the condition (one
  // alignment unit) and the output.
  EXPECT_EQ(plan.live_bytes, (Bytes{3 * kRow, (4 + 3) * kRow, 2 * kRow}));
  EXPECT_EQ(plan.arena_bytes, 7 * kRow);
  const auto body = std::ranges::find_if(
      plan.buffers, [](const Buffer& buffer) { return !buffer.value.is_valid(); });
  ASSERT_NE(body, plan.buffers.end());
  EXPECT_EQ(body->bytes, 4 * kRow);
  EXPECT_EQ(body->first_step, 1u);
  EXPECT_EQ(body->last_step, 1u);
}

TEST(Memory, ABodyWithUnknownSizesIsNamed) {
  Sketch sketch;
  auto body = std::make_shared<Graph>();
  const ValueId open = body->add_value("open");
  body->add_node(
      {.name = "n", .op = "RandomNormal", .domain = "", .inputs = {}, .outputs = {open}});
  body->add_output(open);
  const ValueId condition = sketch.input("condition", {}, DataType::Bool);
  const ValueId y =
      sketch.builder().node("If", "if", {condition}, {{"then_branch", GraphPtr(body)}});
  sketch.set_type(y, tensor_type(DataType::Float32, Shape{16}));
  const MemoryPlan plan = plan_memory(sketch.finish({y}));
  EXPECT_EQ(plan.unplanned_bodies, std::vector<NodeId>{NodeId{0}});
}

TEST(Memory, AGraphThatOnlyPassesOnHoldsWhatItPasses) {
  Sketch sketch;
  const ValueId x = sketch.input("x");
  Inferred model = sketch.finish({x});
  const MemoryPlan plan = plan_memory(model);
  EXPECT_EQ(plan.arena_bytes, kRow);
  EXPECT_TRUE(plan.live_bytes.empty());
}

TEST(Memory, SizesThatOverflowAreRefused) {
  Sketch sketch;
  const std::int64_t huge = std::int64_t{1} << 59;  // 2⁶¹ bytes each
  const ValueId x = sketch.input("x", {huge});
  const ValueId y = sketch.op("Softmax", {x}, {huge});
  const Inferred model = sketch.finish({y});
  try {
    plan_memory(model);
    FAIL() << "2 · 2^61 bytes were planned";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "graph 'sketch': with 'out0' its activations take more than 2^62 bytes");
  }
}

TEST(Memory, OptionsAreChecked) {
  Sketch sketch;
  const Inferred model = sketch.finish({sketch.input("x")});
  EXPECT_THROW(plan_memory(model, {.alignment = 0}), Error);
  EXPECT_THROW(plan_memory(model, {.stored_as = DataType::String}), Error);
}

}  // namespace
}  // namespace assay
