// Compress, ReverseSequence, Unique, NonMaxSuppression, Pad and CenterCropPad.
#include <limits>

#include "kernels/kernel_runner.h"

namespace assay {
namespace {

const Tensor kRows = long_tensor({2, 3}, {1, 2, 3, 4, 5, 6});

Tensor truths(const std::vector<std::uint8_t>& values) {
  return whole_tensor<std::uint8_t>(DataType::Bool, {static_cast<std::int64_t>(values.size())},
                                    values);
}

TEST(PickingKernels, CompressKeepsWhatIsTrue) {
  EXPECT_EQ(result_of({"Compress", {kRows, truths({1, 0, 1})}, {number("axis", -1)}}),
            long_tensor({2, 2}, {1, 3, 4, 6}));
  // A condition may be shorter than the axis; without an axis the tensor is flat.
  EXPECT_EQ(result_of({"Compress", {kRows, truths({0, 1, 0, 1})}}), long_tensor({2}, {2, 4}));
  EXPECT_THROW(result_of({"Compress", {kRows, truths({0, 0, 1})}, {number("axis", 0)}}), Error);
}

TEST(PickingKernels, ReverseSequenceTurnsEachToItsLength) {
  const std::vector<Attribute> batch_first = {number("batch_axis", 0), number("time_axis", 1)};
  EXPECT_EQ(result_of({"ReverseSequence", {kRows, long_tensor({2}, {2, 3})}, batch_first}),
            long_tensor({2, 3}, {2, 1, 3, 6, 5, 4}));
  EXPECT_THROW(result_of({"ReverseSequence", {kRows, long_tensor({2}, {4, 3})}, batch_first}),
               Error);
  EXPECT_THROW(result_of({"ReverseSequence", {kRows, long_tensor({1}, {1})}, batch_first}), Error);
}

TEST(UniqueKernels, SortsAndTellsWhereEverythingWas) {
  const auto outputs =
      outputs_of({.op = "Unique", .inputs = {long_tensor({5}, {3, 1, 3, 2, 1})}, .outputs = 4});
  EXPECT_EQ(outputs[0].to_int64(), (Sizes{1, 2, 3}));
  EXPECT_EQ(outputs[1].to_int64(), (Sizes{1, 3, 0}));        // where each stands first
  EXPECT_EQ(outputs[2].to_int64(), (Sizes{2, 0, 2, 1, 0}));  // which it is, by element
  EXPECT_EQ(outputs[3].to_int64(), (Sizes{2, 1, 2}));
}

TEST(UniqueKernels, KeepsTheOrderOfAppearanceUnlessSorted) {
  const auto outputs = outputs_of({.op = "Unique",
                                   .inputs = {long_tensor({5}, {3, 1, 3, 2, 1})},
                                   .attributes = {number("sorted", 0)},
                                   .outputs = 4});
  EXPECT_EQ(outputs[0].to_int64(), (Sizes{3, 1, 2}));
  EXPECT_EQ(outputs[2].to_int64(), (Sizes{0, 1, 0, 2, 1}));
  EXPECT_EQ(outputs[3].to_int64(), (Sizes{2, 2, 1}));
}

TEST(UniqueKernels, ComparesWholeSlicesStringsAndNaN) {
  EXPECT_EQ(result_of({"Unique", {long_tensor({3, 2}, {5, 1, 2, 9, 5, 1})}, {number("axis", 0)}}),
            long_tensor({2, 2}, {2, 9, 5, 1}));
  EXPECT_EQ(result_of({"Unique", {Tensor({3}, {"b", "a", "b"})}}).strings(),
            (std::vector<std::string>{"a", "b"}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(result_of({"Unique", {real_tensor({4}, {nan, 1, nan, 0})}}).elements(), 3);
}

// Two boxes that overlap by a third of their union, and one apart.
const Tensor kBoxes = real_tensor({1, 3, 4}, {0, 0, 2, 2, 2, 3, 0, 1, 5, 5, 6, 6});
const Tensor kScores = real_tensor({1, 1, 3}, {0.5f, 0.9f, 0.7f});

Sizes survivors(std::int64_t most, float overlap, std::vector<Tensor> more = {}) {
  std::vector<Tensor> inputs = {kBoxes, kScores, long_tensor({1}, {most}),
                                real_tensor({1}, {overlap})};
  inputs.insert(inputs.end(), more.begin(), more.end());
  const auto rows = result_of({"NonMaxSuppression", inputs}).to_int64();
  Sizes boxes;
  for (std::size_t i = 2; i < rows.size(); i += 3) boxes.push_back(rows[i]);
  return boxes;
}

TEST(NonMaxSuppression, KeepsTheBestOfThoseThatOverlap) {
  EXPECT_EQ(survivors(3, 0.3f), (Sizes{1, 2}));  // 2·1 / (4 + 4 − 2) = 1/3 is above 0.3
  EXPECT_EQ(survivors(3, 0.4f), (Sizes{1, 2, 0}));
  EXPECT_EQ(survivors(1, 0.4f), Sizes{1});
  EXPECT_EQ(survivors(3, 0.4f, {real_tensor({1}, {0.6f})}), (Sizes{1, 2}));
  EXPECT_EQ(survivors(0, 0.4f), Sizes{});
}

TEST(NonMaxSuppression, RefusesBoxesWithoutScores) {
  EXPECT_THROW(result_of({"NonMaxSuppression", {kBoxes, real_tensor({1, 1, 2}, {1, 2})}}), Error);
}

TEST(PaddingKernels, FillByAttributeBeforeOpsetEleven) {
  EXPECT_EQ(
      result_of(
          {"Pad", {real_tensor({2}, {1, 2})}, {list("pads", {1, 0}), real_number("value", 7)}, 10}),
      real_tensor({3}, {7, 1, 2}));
}

TEST(PaddingKernels, CenterCropPadCutsOrFillsBothEnds) {
  const Tensor row = long_tensor({5}, {1, 2, 3, 4, 5});
  EXPECT_EQ(result_of({"CenterCropPad", {row, long_tensor({1}, {2})}}), long_tensor({2}, {2, 3}));
  EXPECT_EQ(result_of({"CenterCropPad", {row, long_tensor({1}, {8})}}),
            long_tensor({8}, {0, 1, 2, 3, 4, 5, 0, 0}));
  EXPECT_EQ(result_of({"CenterCropPad", {kRows, long_tensor({1}, {1})}, {list("axes", {-1})}}),
            long_tensor({2, 1}, {2, 5}));
  EXPECT_THROW(result_of({"CenterCropPad", {row, long_tensor({1}, {-1})}}), Error);
}

}  // namespace
}  // namespace assay
