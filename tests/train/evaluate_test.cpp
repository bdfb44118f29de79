#include <algorithm>
#include <cmath>

#include "assay/accuracy.h"
#include "assay/builder.h"
#include "assay/engine.h"
#include "train/small_data.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// A model whose scores are its input.
Graph echo(std::int64_t classes, const char* op = "Identity") {
  GraphBuilder builder("echo");
  const ValueId input = builder.input("scores", DataType::Float32, Shape{1, classes});
  builder.output(builder.node(op, "says", {input}), "output");
  return builder.finish();
}

// Three classes; the third sample is taken for class 1.
Dataset five_samples() {
  const std::vector<float> scores = {9, 0, 0, 0, 9, 0, 0, 9, 0, 0, 0, 9, 9, 0, 0};
  return make_dataset("five", Tensor::of_float({5, 3}, scores),
                      Tensor::of_int64({5}, {0, 1, 2, 2, 0}), 3);
}

ProgramOptions reference() {
  return {.engine = "reference", .cpu = {.threads = 1}};
}

TEST(Accuracy, CountsEverySampleOfALastBatchThatIsNotFull) {
  const Loader loader(five_samples(), {.batch_size = 2, .shuffle = false});
  const Evaluation seen = evaluate(echo(3), loader, {.program = reference()});
  EXPECT_EQ(seen.accuracy.correct, 4);
  EXPECT_EQ(seen.accuracy.total, 5);
  EXPECT_DOUBLE_EQ(seen.accuracy.value, 0.8);
  EXPECT_NEAR(seen.accuracy.ci95_low, 0.3755, 5e-5);  // Wilson of 4 in 5
  EXPECT_NEAR(seen.accuracy.ci95_high, 0.9638, 5e-5);
  EXPECT_DOUBLE_EQ(evaluate_accuracy(echo(3), loader), 0.8);
}

TEST(Accuracy, DifferenceIsPairedSampleBySample) {
  Evaluation first;
  first.is_correct = {true, true, true, false, false, true};
  first.accuracy = accuracy_of(4, 6);
  Evaluation second = first;
  second.is_correct[0] = false;  // lost
  second.is_correct[3] = true;   // gained
  second.is_correct[4] = true;   // gained
  second.accuracy = accuracy_of(5, 6);
  const AccuracyDifference difference = compare_accuracy(first, second);
  EXPECT_DOUBLE_EQ(difference.value, 1.0 / 6);
  // (2.5 - 1.5) / 8 ± 1.96 * sqrt(4 - 1 / 8) / 8
  EXPECT_NEAR(difference.ci95_low, 0.125 - 1.96 * std::sqrt(3.875) / 8, 1e-4);
  EXPECT_NEAR(difference.ci95_high, 0.125 + 1.96 * std::sqrt(3.875) / 8, 1e-4);
  second.is_correct.pop_back();
  EXPECT_THROW(compare_accuracy(first, second), Error);
}

TEST(Accuracy, TellsWhichSamplesAreCorrect) {
  const Loader loader(five_samples(), {.batch_size = 2, .shuffle = false});
  const Evaluation seen = evaluate(echo(3), loader, {.program = reference()});
  EXPECT_EQ(seen.is_correct, (std::vector<bool>{true, true, false, true, true}));
}

TEST(Accuracy, LossIsTheMeanCrossEntropy) {
  const Loader loader(five_samples(), {.batch_size = 5});
  const double sum = std::exp(9) + 2;
  const double right = -std::log(std::exp(9) / sum);
  const double wrong = -std::log(1 / sum);
  const Evaluation scores = evaluate(echo(3), loader, {.program = reference()});
  EXPECT_NEAR(scores.loss, (4 * right + wrong) / 5, 1e-9);
  const Evaluation shares = evaluate(echo(3, "Softmax"), loader, {.program = reference()});
  EXPECT_NEAR(shares.loss, scores.loss, 1e-6);
  const Evaluation logarithms = evaluate(echo(3, "LogSoftmax"), loader, {.program = reference()});
  EXPECT_NEAR(logarithms.loss, scores.loss, 1e-6);
}

TEST(Accuracy, LossMayBeTheSquaredErrorFromOneForTheClass) {
  const Loader loader(five_samples(), {.batch_size = 5});
  const Evaluation seen =
      evaluate(echo(3), loader, {.loss = Loss::MeanSquaredError, .program = reference()});
  EXPECT_NEAR(seen.loss, (4 * 8.0 * 8.0 + (9.0 * 9.0 + 1)) / (5 * 3), 1e-9);
}

TEST(Accuracy, ConfusionMatrixHasARowForEveryTrueClass) {
  const Loader loader(five_samples(), {.batch_size = 2});
  const std::vector<std::vector<std::int64_t>> wanted = {{2, 0, 0}, {0, 1, 0}, {0, 1, 1}};
  EXPECT_EQ(confusion_matrix(echo(3), loader, reference()), wanted);
}

TEST(Accuracy, ImagesMayBeLaidOutFlat) {
  const Loader loader(small_images(Split::Test, 10), {.batch_size = 4});
  GraphBuilder builder("flat");
  const ValueId input = builder.input("pixels", DataType::Float32, Shape{1, 64});
  builder.output(Linear(64, 4)(builder, input), "output");
  EXPECT_EQ(evaluate(builder.finish(), loader).accuracy.total, 10);
}

TEST(Accuracy, BothEnginesAgree) {
  const Loader loader(small_images(Split::Test, 50), {.batch_size = 16});
  const Evaluation fast = evaluate(small_network(), loader);
  const Evaluation plain = evaluate(small_network(), loader, {.program = reference()});
  EXPECT_EQ(fast.accuracy.correct, plain.accuracy.correct);
  EXPECT_NEAR(fast.loss, plain.loss, 1e-5);
}

std::string complaint(const Graph& model, const Dataset& data) {
  return error_message(ErrorKind::BadInput,
                       [&] { evaluate(model, Loader(data, {.batch_size = 2})); });
}

TEST(Accuracy, OtherShapesAreNamed) {
  EXPECT_THAT(complaint(echo(4), five_samples()),
              AllOf(HasSubstr("float32[1x4]"), HasSubstr("'five' are 3")));
  EXPECT_THAT(complaint(small_network(), load_dataset("synthetic", {.size = 4})),
              AllOf(HasSubstr("1x1x8x8"), HasSubstr("1x28x28")));
}

TEST(Accuracy, FewerScoresThanClassesAreRefused) {
  Dataset data = five_samples();
  data.classes = 7;
  EXPECT_THAT(complaint(echo(3), data),
              AllOf(HasSubstr("scores for 3 classes"), HasSubstr("'five' has 7")));
}

TEST(Accuracy, LabelsOutOfRangeAreNamed) {
  Dataset data = five_samples();
  data.labels = Tensor::of_int64({5}, {0, 1, 2, 3, 0});
  EXPECT_THAT(complaint(echo(3), data), HasSubstr("label 3 is 3"));
}

TEST(Accuracy, EmptyDataIsRefusedByName) {
  Dataset data = five_samples();
  data.samples = data.samples.rows(0, 0);
  data.labels = data.labels.rows(0, 0);
  EXPECT_THAT(complaint(echo(3), data), HasSubstr("data set 'five'"));
}

TEST(Accuracy, DevicesAndPrecisionsThatAreNotThereAreRefused) {
  const Loader loader(five_samples(), {.batch_size = 2});
  const auto refused = [&](const char* device, const char* precision) {
    return error_message(ErrorKind::Usage,
                         [&] { evaluate_accuracy(echo(3), loader, device, precision); });
  };
  const auto all = engines();
  const auto cuda = std::ranges::find(all, "cuda", &EngineInfo::name);
  if (!cuda->available) {
    EXPECT_THAT(error_message(ErrorKind::BadInput,
                              [&] { evaluate_accuracy(echo(3), loader, "cuda", "fp32"); }),
                HasSubstr("engine 'cuda' cannot run here"));
  }
  EXPECT_THAT(refused("tpu", "fp32"), HasSubstr("there is no device 'tpu'"));
  EXPECT_THAT(refused("cpu", "int8"), HasSubstr("needs a model that is quantised already"));
  EXPECT_THAT(refused("cpu", "fp31"), HasSubstr("choose from fp32, fp16, bf16, int8"));
}

}  // namespace
}  // namespace assay
