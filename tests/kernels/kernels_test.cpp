// The plain kernels: results worked out by hand, and extreme numbers that must not be undefined.
#include "kernels/kernel.h"

#include <gtest/gtest.h>

#include <limits>

#include "assay/error.h"
#include "graph/half.h"

namespace assay {

using namespace assay::graph;
using namespace assay::kernels;

namespace {

using Ints = std::vector<std::int64_t>;

Tensor ints(Ints dims, const Ints& values) {
  return Tensor::of_int64(std::move(dims), values);
}
Tensor row(const Ints& values) {
  return ints({static_cast<std::int64_t>(values.size())}, values);
}
Tensor scalar(std::int64_t value) {
  return ints({}, {value});
}
Tensor floats(const std::vector<float>& values) {
  return Tensor::of_float({static_cast<std::int64_t>(values.size())}, values);
}

std::vector<Tensor> run(const char* op, std::vector<Tensor> inputs,
                        std::vector<Attribute> attributes = {}, std::size_t outputs = 1,
                        std::int64_t opset = 17) {
  Node node{.name = "node",
            .op = op,
            .domain = "",
            .inputs = {},
            .outputs = std::vector<ValueId>(outputs, ValueId{0}),
            .attributes = std::move(attributes)};
  return evaluate(node, inputs, opset);
}

Ints values(const char* op, std::vector<Tensor> inputs, std::vector<Attribute> attributes = {}) {
  return run(op, std::move(inputs), std::move(attributes)).front().to_int64();
}

TEST(Kernels, UnknownOpsHaveNone) {
  EXPECT_TRUE(has_kernel(Node{.name = "", .op = "Add", .domain = ""}));
  EXPECT_FALSE(has_kernel(Node{.name = "", .op = "Frobnicate", .domain = ""}));
  EXPECT_FALSE(has_kernel(Node{.name = "", .op = "Add", .domain = "com.example"}));
  EXPECT_THROW(run("Frobnicate", {}), Error);
}

TEST(ArithmeticKernels, BroadcastRowAgainstColumn) {
  const Tensor sum = run("Add", {ints({2, 1}, {10, 20}), row({1, 2, 3})}).front();
  EXPECT_EQ(sum.dims(), (Ints{2, 3}));
  EXPECT_EQ(sum.to_int64(), (Ints{11, 12, 13, 21, 22, 23}));
  EXPECT_THROW(run("Add", {row({1, 2}), row({1, 2, 3})}), Error);
  EXPECT_THROW(run("Add", {row({1}), floats({1})}), Error);
}

TEST(ArithmeticKernels, IntegersWrapAndNeverTrap) {
  const auto low = std::numeric_limits<std::int64_t>::min();
  const auto high = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(values("Add", {row({high}), row({1})}), (Ints{low}));
  EXPECT_EQ(values("Sub", {row({low}), row({1})}), (Ints{high}));
  EXPECT_EQ(values("Mul", {row({high}), row({2})}), (Ints{-2}));
  EXPECT_EQ(values("Div", {row({low}), row({-1})}), (Ints{low}));
  EXPECT_EQ(values("Mod", {row({low}), row({-1})}), (Ints{0}));
  EXPECT_EQ(values("Neg", {row({low})}), (Ints{low}));
  EXPECT_EQ(values("Abs", {row({low})}), (Ints{low}));
  EXPECT_THROW(run("Div", {row({1}), row({0})}), Error);
  EXPECT_THROW(run("Mod", {row({1}), row({0})}), Error);
}

TEST(ArithmeticKernels, DivisionTruncatesAndModFollowsTheDivisor) {
  EXPECT_EQ(values("Div", {row({-7, 7}), row({2, -2})}), (Ints{-3, -3}));
  EXPECT_EQ(values("Mod", {row({-7, 7}), row({3, -3})}), (Ints{2, -2}));
  EXPECT_EQ(values("Mod", {row({-7, 7}), row({3, -3})}, {{"fmod", std::int64_t{1}}}),
            (Ints{-1, 1}));
}

TEST(ArithmeticKernels, PowerOfIntegersIsExact) {
  EXPECT_EQ(values("Pow", {row({3, -1, 2}), row({4, -3, -1})}), (Ints{81, -1, 0}));
  EXPECT_EQ(run("Pow", {floats({4}), row({2})}).front().to_double(), (std::vector<double>{16}));
  EXPECT_THROW(run("Pow", {row({0}), row({-1})}), Error);
}

TEST(ArithmeticKernels, HalvesAreComputedAsFloats) {
  const std::vector<std::uint16_t> bits = {float_to_half(1.5f), float_to_half(2.0f)};
  const Tensor halves = Tensor::of<std::uint16_t>(DataType::Float16, {2}, bits);
  const Tensor sum = run("Add", {halves, halves}).front();
  EXPECT_EQ(sum.type(), DataType::Float16);
  EXPECT_EQ(sum.to_double(), (std::vector<double>{3, 4}));
}

TEST(ArithmeticKernels, MinMaxSumMeanTakeAnyNumberOfInputs) {
  EXPECT_EQ(values("Max", {row({1, 5}), row({3, 2}), row({2, 9})}), (Ints{3, 9}));
  EXPECT_EQ(values("Min", {row({1, 5}), row({3, 2}), row({2, 9})}), (Ints{1, 2}));
  EXPECT_EQ(values("Sum", {row({1, 5}), row({3, 2}), row({2, 9})}), (Ints{6, 16}));
  EXPECT_EQ(run("Mean", {floats({1}), floats({2})}).front().to_double(),
            (std::vector<double>{1.5}));
}

TEST(UnaryKernels, RoundGoesToTheEvenNeighbour) {
  EXPECT_EQ(run("Round", {floats({0.5f, 1.5f, 2.5f, -0.5f})}).front().to_double(),
            (std::vector<double>{0, 2, 2, -0.0}));
  EXPECT_EQ(run("Ceil", {floats({-1.5f})}).front().to_double(), (std::vector<double>{-1}));
  EXPECT_EQ(run("Floor", {floats({-1.5f})}).front().to_double(), (std::vector<double>{-2}));
  EXPECT_EQ(run("Sign", {row({-4, 0, 9})}).front().to_int64(), (Ints{-1, 0, 1}));
  EXPECT_EQ(values("Clip", {row({-4, 0, 9}), scalar(-1), scalar(5)}), (Ints{-1, 0, 5}));
  EXPECT_THROW(run("Sqrt", {row({4})}), Error);
}

TEST(ComparisonKernels, GiveTruths) {
  const Tensor less = run("Less", {row({1, 2, 3}), row({2})}).front();
  EXPECT_EQ(less.type(), DataType::Bool);
  EXPECT_EQ(less.to_int64(), (Ints{1, 0, 0}));
  EXPECT_EQ(run("Not", {less}).front().to_int64(), (Ints{0, 1, 1}));
  EXPECT_EQ(run("Xor", {less, run("Not", {less}).front()}).front().to_int64(), (Ints{1, 1, 1}));
  EXPECT_EQ(values("Where", {less, row({7, 8, 9}), scalar(-1)}), (Ints{7, -1, -1}));
}

TEST(CastKernels, OutOfRangeIsDefined) {
  const auto to = [](DataType type) {
    return std::vector<Attribute>{{"to", static_cast<std::int64_t>(type)}};
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(values("Cast", {floats({1e30f, -1e30f, nan, -2.7f})}, to(DataType::Int64)),
            (Ints{std::numeric_limits<std::int64_t>::max(),
                  std::numeric_limits<std::int64_t>::min(), 0, -2}));
  EXPECT_EQ(values("Cast", {row({300})}, to(DataType::UInt8)), (Ints{300 - 256}));
  EXPECT_EQ(values("Cast", {floats({0.5f, 0})}, to(DataType::Bool)), (Ints{1, 0}));
  EXPECT_THROW(run("Cast", {row({1})}, {{"to", std::int64_t{99}}}), Error);
}

TEST(CreationKernels, ShapesAndRanges) {
  EXPECT_EQ(values("Shape", {ints({2, 3}, Ints(6, 0))}), (Ints{2, 3}));
  EXPECT_EQ(values("Shape", {ints({2, 3}, Ints(6, 0))}, {{"start", std::int64_t{-1}}}), (Ints{3}));
  EXPECT_EQ(values("Size", {ints({2, 3}, Ints(6, 0))}), (Ints{6}));
  EXPECT_EQ(values("Range", {scalar(10), scalar(3), scalar(-3)}), (Ints{10, 7, 4}));
  EXPECT_EQ(values("Range", {scalar(3), scalar(3), scalar(1)}), Ints{});
  EXPECT_THROW(run("Range", {scalar(0), scalar(3), scalar(0)}), Error);
  EXPECT_EQ(values("ConstantOfShape", {row({3})}, {{"value", ints({1}, {7})}}), (Ints{7, 7, 7}));
  EXPECT_THROW(run("ConstantOfShape", {row({-1})}), Error);
  EXPECT_THROW(run("ConstantOfShape", {row({INT64_MAX, INT64_MAX})}), Error);
  EXPECT_EQ(values("EyeLike", {ints({2, 2}, Ints(4, 5))}), (Ints{1, 0, 0, 1}));
  EXPECT_EQ(values("OneHot", {row({-1, 0}), scalar(3), row({0, 9})}), (Ints{0, 0, 9, 9, 0, 0}));
}

TEST(ViewKernels, ReshapeSqueezeUnsqueeze) {
  const Tensor six = ints({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(run("Reshape", {six, row({-1, 2})}).front().dims(), (Ints{3, 2}));
  EXPECT_EQ(run("Reshape", {six, row({0, -1, 1})}).front().dims(), (Ints{2, 3, 1}));
  EXPECT_THROW(run("Reshape", {six, row({4, -1})}), Error);
  EXPECT_EQ(run("Flatten", {six}, {{"axis", std::int64_t{0}}}).front().dims(), (Ints{1, 6}));
  EXPECT_EQ(run("Unsqueeze", {six, row({0, -1})}).front().dims(), (Ints{1, 2, 3, 1}));
  EXPECT_EQ(run("Unsqueeze", {six}, {{"axes", Ints{1}}}).front().dims(), (Ints{2, 1, 3}));
  EXPECT_EQ(run("Squeeze", {ints({1, 2, 1}, {1, 2})}).front().dims(), (Ints{2}));
  EXPECT_THROW(run("Squeeze", {six, row({0})}), Error);
}

TEST(MovementKernels, TransposeExpandTileConcat) {
  const Tensor six = ints({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values("Transpose", {six}), (Ints{1, 4, 2, 5, 3, 6}));
  EXPECT_THROW(run("Transpose", {six}, {{"perm", Ints{0, 0}}}), Error);
  EXPECT_EQ(values("Expand", {ints({2, 1}, {1, 2}), row({2, 2})}), (Ints{1, 1, 2, 2}));
  EXPECT_EQ(values("Tile", {row({1, 2}), row({2})}), (Ints{1, 2, 1, 2}));
  EXPECT_THROW(run("Tile", {row({1, 2}), row({INT64_MAX})}), Error);
  EXPECT_EQ(values("Concat", {six, six}, {{"axis", std::int64_t{1}}}),
            (Ints{1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}));
}

TEST(MovementKernels, SliceInEitherForm) {
  const Tensor ten = row({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(values("Slice", {ten, row({-1}), row({INT64_MIN}), row({0}), row({-4})}),
            (Ints{9, 5, 1}));
  EXPECT_EQ(values("Slice", {ten}, {{"starts", Ints{7}}, {"ends", Ints{INT64_MAX}}}),
            (Ints{7, 8, 9}));
  EXPECT_EQ(values("Slice", {ten, row({5}), row({2})}), Ints{});
  EXPECT_EQ(values("Slice", {ten, row({9}), row({INT64_MIN}), row({0}), row({INT64_MIN})}),
            (Ints{9}));
  EXPECT_THROW(run("Slice", {ten, row({0}), row({2}), row({0}), row({0})}), Error);
  EXPECT_THROW(run("Slice", {ten, row({0}), row({2}), row({1})}), Error);
}

TEST(MovementKernels, SplitAndPad) {
  const auto parts = run("Split", {row({1, 2, 3, 4, 5})}, {}, 2, 18);
  EXPECT_EQ(parts[0].to_int64(), (Ints{1, 2, 3}));
  EXPECT_EQ(parts[1].to_int64(), (Ints{4, 5}));
  EXPECT_THROW(run("Split", {row({1, 2, 3}), row({2, 2})}, {}, 2), Error);
  EXPECT_EQ(values("Pad", {row({1, 2, 3}), row({1, 2}), scalar(9)}), (Ints{9, 1, 2, 3, 9, 9}));
  EXPECT_EQ(values("Pad", {row({1, 2, 3}), row({-1, 1})}), (Ints{2, 3, 0}));
  EXPECT_EQ(values("Pad", {row({1, 2, 3}), row({2, 1})}, {{"mode", std::string("reflect")}}),
            (Ints{3, 2, 1, 2, 3, 2}));
  EXPECT_THROW(run("Pad", {row({1}), row({INT64_MIN, INT64_MAX})}), Error);
}

TEST(GatherKernels, PickByIndex) {
  const Tensor six = ints({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values("Gather", {six, row({-1, 0})}, {{"axis", std::int64_t{1}}}), (Ints{3, 1, 6, 4}));
  EXPECT_EQ(values("GatherElements", {six, ints({1, 3}, {1, 0, 1})}), (Ints{4, 2, 6}));
  EXPECT_EQ(values("GatherND", {six, ints({2, 1}, {1, 0})}), (Ints{4, 5, 6, 1, 2, 3}));
  EXPECT_EQ(values("GatherND", {six, ints({2, 1}, {2, 0})}, {{"batch_dims", std::int64_t{1}}}),
            (Ints{3, 4}));
  EXPECT_THROW(run("Gather", {six, row({2})}), Error);
  EXPECT_THROW(run("Gather", {six, row({INT64_MIN})}), Error);
  EXPECT_THROW(run("GatherND", {six, ints({1, 3}, {0, 0, 0})}), Error);
}

TEST(ScatterKernels, WriteByIndex) {
  EXPECT_EQ(values("ScatterElements", {row({1, 2, 3}), row({-1, 0}), row({9, 8})}),
            (Ints{8, 2, 9}));
  EXPECT_EQ(values("ScatterElements", {row({1, 2, 3}), row({0, 0}), row({9, 8})},
                   {{"reduction", std::string("add")}}),
            (Ints{18, 2, 3}));
  EXPECT_EQ(
      values("ScatterND", {ints({2, 2}, {1, 2, 3, 4}), ints({1, 1}, {1}), ints({1, 2}, {7, 8})}),
      (Ints{1, 2, 7, 8}));
  EXPECT_THROW(run("ScatterElements", {row({1}), row({1}), row({9})}), Error);
  EXPECT_THROW(run("ScatterND", {row({1}), ints({1, 1}, {0}), row({7, 8})}), Error);
}

TEST(ReductionKernels, FoldAxes) {
  const Tensor six = ints({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values("ReduceSum", {six, row({0})}), (Ints{5, 7, 9}));
  EXPECT_EQ(values("ReduceProd", {six}), (Ints{720}));
  EXPECT_EQ(
      run("ReduceMax", {six}, {{"axes", Ints{-1}}, {"keepdims", std::int64_t{0}}}).front().dims(),
      (Ints{2}));
  EXPECT_EQ(values("ReduceMin", {six}, {{"axes", Ints{1}}}), (Ints{1, 4}));
  EXPECT_EQ(values("ReduceMean", {six}, {{"axes", Ints{0}}}), (Ints{2, 3, 4}));
  EXPECT_EQ(values("ReduceSum", {six, row({})}, {{"noop_with_empty_axes", std::int64_t{1}}}),
            six.to_int64());
  EXPECT_EQ(values("ArgMax", {six}, {{"axis", std::int64_t{1}}}), (Ints{2, 2}));
  EXPECT_EQ(values("ArgMin", {row({3, 1, 1})}, {{"select_last_index", std::int64_t{1}}}),
            (Ints{2}));
  EXPECT_EQ(values("CumSum", {row({1, 2, 3}), scalar(0)}), (Ints{1, 3, 6}));
  EXPECT_EQ(values("CumSum", {row({1, 2, 3}), scalar(0)},
                   {{"exclusive", std::int64_t{1}}, {"reverse", std::int64_t{1}}}),
            (Ints{5, 3, 0}));
  EXPECT_THROW(run("ReduceSum", {six, row({2})}), Error);
}

TEST(SelectionKernels, ChooseByContent) {
  const Tensor found = run("NonZero", {ints({2, 2}, {0, 5, 6, 0})}).front();
  EXPECT_EQ(found.dims(), (Ints{2, 2}));
  EXPECT_EQ(found.to_int64(), (Ints{0, 1, 1, 0}));
  EXPECT_EQ(values("Trilu", {ints({2, 2}, {1, 2, 3, 4})}), (Ints{1, 2, 0, 4}));
  const auto top = run("TopK", {row({3, 9, 1, 9}), row({2})}, {}, 2);
  EXPECT_EQ(top[0].to_int64(), (Ints{9, 9}));
  EXPECT_EQ(top[1].to_int64(), (Ints{1, 3}));
  EXPECT_THROW(run("TopK", {row({1}), row({2})}, {}, 2), Error);
}

}  // namespace
}  // namespace assay
