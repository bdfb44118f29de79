// Cast between integers and floats in the fast engine: every type has the space it needs.
#include <gtest/gtest.h>

#include "assay/builder.h"
#include "compare_engines.h"

namespace assay {
namespace {

ValueId cast(GraphBuilder& builder, const std::string& name, ValueId value, DataType type) {
  return builder.node("Cast", name, {value}, {{"to", static_cast<std::int64_t>(type)}});
}

void expect_same_on_both_engines(const Graph& graph) {
  for (const int threads : {1, 2}) {
    const Difference difference = compare_engines(graph, {.cpu = {.threads = threads}});
    EXPECT_TRUE(difference.same_shapes) << difference.where;
    EXPECT_EQ(difference.largest, 0) << difference.where;
  }
}

// Integers of 64 bits are twice as long as what they are cast from: the tensors made before and
// after them must not lie within reach.
TEST(IntegerCast, ToSixtyFourBitsLeavesItsNeighboursAlone) {
  for (const Shape& shape : {Shape{2, 2}, Shape{64, 65}, Shape{1, 8, 9, 9}, Shape{}}) {
    GraphBuilder builder("net");
    const ValueId x = builder.input("x", DataType::Float32, shape);
    const ValueId before = builder.node("Relu", "before", {x});
    const ValueId longs = cast(builder, "longs", x, DataType::Int64);
    const ValueId after = builder.node("Abs", "after", {x});
    const ValueId back = cast(builder, "back", longs, DataType::Float32);
    builder.output(before, "a");
    builder.output(longs, "b");
    builder.output(after, "c");
    builder.output(back, "d");
    expect_same_on_both_engines(builder.finish());
  }
}

TEST(IntegerCast, OfAScalarHasSpaceForIt) {
  for (const DataType from : {DataType::Int32, DataType::Int64}) {
    GraphBuilder builder("net");
    const ValueId x = builder.input("x", from, Shape{});
    const ValueId real = cast(builder, "real", x, DataType::Float32);
    builder.output(builder.node("Add", "more", {real, builder.scalar("half", 0.5f)}), "y");
    expect_same_on_both_engines(builder.finish());
  }
}

}  // namespace
}  // namespace assay
