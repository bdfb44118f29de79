#include "assay/training_data.h"

#include <gmock/gmock.h>

#include "assay/builder.h"
#include "data/data_files.h"

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TrainingDataFiles : public TemporaryFolder {
 protected:
  // Two files of `count` samples, as load_training_data names them.
  std::string pair_of(std::int64_t count) const {
    const std::vector<float> samples(static_cast<std::size_t>(count * 2), 0.5F);
    const std::vector<std::int64_t> labels(static_cast<std::size_t>(count), 1);
    write_npy(Tensor::of_float({count, 2}, samples), folder_ / "x.npy");
    write_npy(Tensor::of_int64({count}, labels), folder_ / "y.npy");
    return (folder_ / "x.npy").string() + "," + (folder_ / "y.npy").string();
  }
};

TEST_F(TrainingDataFiles, WithoutATestPartSetATenthAsideAndSaySo) {
  const TrainingData data = load_training_data(pair_of(30));
  EXPECT_EQ(data.training.size(), 27);
  EXPECT_EQ(data.validation.size(), 3);
  EXPECT_THAT(data.warnings, ElementsAre(HasSubstr("3 of its 30 samples are set aside")));
}

TEST_F(TrainingDataFiles, AreSplitInTheSizesAskedFor) {
  const TrainingData data =
      load_training_data(pair_of(30), {.training_samples = 10, .validation_samples = 5});
  EXPECT_EQ(data.training.size(), 10);
  EXPECT_EQ(data.validation.size(), 5);
}

TEST_F(TrainingDataFiles, RefuseAValidationPartThatLeavesNothingToTrainOn) {
  const std::string name = pair_of(4);
  EXPECT_THAT(error_message(ErrorKind::BadInput,
                            [&] { load_training_data(name, {.validation_samples = 4}); }),
              HasSubstr("1 to 3"));
}

TEST(TrainingData, OfASyntheticSetHasTheShapeAndSizesAskedFor) {
  const TrainingData data = load_training_data(
      "synthetic", {.training_samples = 12, .validation_samples = 8, .sample_dims = {3, 4}});
  EXPECT_EQ(data.training.size(), 12);
  EXPECT_EQ(data.validation.size(), 8);
  EXPECT_THAT(data.training.sample_dims(), ElementsAre(3, 4));
  EXPECT_THAT(data.warnings, IsEmpty());
}

Graph graph_with_input(std::optional<Shape> shape) {
  GraphBuilder builder("one relu");
  builder.output(builder.node("Relu", "relu", {builder.input("x", DataType::Float32, shape)}), "y");
  return builder.finish();
}

TEST(SampleDims, LeaveTheBatchOut) {
  EXPECT_THAT(sample_dims_of(graph_with_input(Shape({8, 3, 32})), {9}), ElementsAre(3, 32));
}

TEST(SampleDims, FallBackIfTheModelLeavesThemOpen) {
  const Shape open({Dim(8), Dim::symbol("length")});
  EXPECT_THAT(sample_dims_of(graph_with_input(open), {9}), ElementsAre(9));
  EXPECT_THAT(sample_dims_of(graph_with_input({}), {9}), ElementsAre(9));
}

}  // namespace
}  // namespace assay
