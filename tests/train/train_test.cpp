#include "assay/train.h"

#include <cmath>
#include <limits>

#include "assay/builder.h"
#include "train/small_data.h"

namespace assay {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Train : public TrainFolder {
 protected:
  TrainResult train(const TrainOptions& options, TrainProgress* progress = nullptr) const {
    return train_model(small_network(), training_, &validation_, options, progress);
  }
  std::string complaint(ErrorKind kind, const TrainOptions& options) const {
    return error_message(kind, [&] { train(options); });
  }

  const Dataset training_ = small_images(Split::Train, 200);
  const Dataset validation_ = small_images(Split::Test, 50);
};

TEST_F(Train, LearnsToTellSyntheticImagesApart) {
  TrainOptions options = small_training();
  options.epochs = 4;
  const TrainResult result = train(options);
  ASSERT_EQ(result.epochs.size(), 4u);
  EXPECT_LT(result.epochs.back().loss, result.epochs.front().loss);
  EXPECT_GT(result.epochs.back().validation_accuracy->value, 0.9);
  EXPECT_EQ(result.epochs.back().validation_accuracy->total, 50);
  EXPECT_GT(result.memory.arena_bytes, 0);
  EXPECT_EQ(result.threads, 1);
}

TEST_F(Train, TheModelIsTheOneThatWasEvaluated) {
  const TrainResult result = train(small_training());
  const Loader loader(validation_, {.batch_size = 7});
  const Evaluation seen = evaluate(result.model, loader);
  EXPECT_EQ(seen.accuracy.correct, result.epochs.back().validation_accuracy->correct);
  EXPECT_NEAR(seen.loss, *result.epochs.back().validation_loss, 1e-5);
}

TEST_F(Train, ChangesParametersAndRunningStatisticsAndNothingElse) {
  const Graph before = small_network();
  const TrainResult result = train(small_training());
  ASSERT_EQ(result.model.node_count(), before.node_count());
  std::size_t changed = 0;
  for (const auto& [value, tensor] : before.initializers()) {
    EXPECT_EQ(result.model.initializer(value)->shape(), tensor.shape());
    changed += *result.model.initializer(value) == tensor ? 0 : 1;
  }
  EXPECT_EQ(changed, 8u);  // weight and bias of three layers, mean and variance
}

TEST_F(Train, IsTheSameToTheBitEveryTime) {
  for (const int threads : {1, 2}) {
    TrainOptions options = small_training();
    options.program.cpu.threads = threads;
    const TrainResult first = train(options);
    const TrainResult second = train(options);
    EXPECT_EQ(first.model, second.model) << threads;
    EXPECT_EQ(first.epochs.back().loss, second.epochs.back().loss);
    EXPECT_EQ(first.epochs.back().validation_loss, second.epochs.back().validation_loss);
  }
}

TEST_F(Train, TheSeedDecidesTheOrderUnlessThatIsTheDatas) {
  const auto last_loss = [&](std::uint64_t seed, bool shuffle) {
    TrainOptions options = small_training();
    options.seed = seed;
    options.shuffle = shuffle;
    return train_model(small_network(), training_, nullptr, options).epochs.back().loss;
  };
  EXPECT_EQ(last_loss(1, false), last_loss(2, false));
  EXPECT_NE(last_loss(1, true), last_loss(2, true));
  EXPECT_NE(last_loss(1, true), last_loss(1, false));
}

TEST_F(Train, AnotherSeedGivesOtherWeights) {
  TrainOptions options = small_training();
  const TrainResult first = train(options);
  options.seed = 1;
  EXPECT_FALSE(train(options).model == first.model);
}

TEST_F(Train, LearnsWithEveryOptimizerAndLoss) {
  for (const OptimizerKind kind :
       {OptimizerKind::Sgd, OptimizerKind::Momentum, OptimizerKind::Adam, OptimizerKind::AdamW}) {
    for (const Loss loss : {Loss::CrossEntropy, Loss::MeanSquaredError}) {
      TrainOptions options = small_training();
      options.epochs = 3;
      options.optimizer.kind = kind;
      options.loss = loss;
      const auto epochs = train(options).epochs;
      EXPECT_LT(epochs.back().loss, epochs.front().loss) << name(kind) << " " << name(loss);
    }
  }
}

TEST_F(Train, CosineRatesFallToZero) {
  TrainOptions options = small_training();
  options.schedule = Schedule::Cosine;
  const auto epochs = train(options).epochs;
  const double steps = 200 / 16;  // in an epoch; 24 in all
  const auto rate_after = [&](double step) {
    return 0.01 * 0.5 * (1 + std::cos(M_PI * step / (2 * steps)));
  };
  EXPECT_NEAR(epochs[0].learning_rate, rate_after(steps - 1), 1e-12);
  EXPECT_NEAR(epochs[1].learning_rate, rate_after(2 * steps - 1), 1e-12);
}

TEST_F(Train, StopsEarlyAndTakesTheBestEpoch) {
  TrainOptions options = small_training();
  options.epochs = 60;
  options.patience = 2;
  options.learning_rate = 0.2;  // jumps about
  const TrainResult result = train(options);
  ASSERT_TRUE(result.stopped_early);
  const auto epochs = static_cast<std::int64_t>(result.epochs.size());
  EXPECT_LT(epochs, 60);
  EXPECT_EQ(result.best_epoch, epochs - 2);
  EXPECT_EQ(result.model_epoch, result.best_epoch);
  const double best =
      *result.epochs[static_cast<std::size_t>(result.best_epoch - 1)].validation_loss;
  for (const EpochResult& epoch : result.epochs) EXPECT_GE(*epoch.validation_loss, best);
  const Loader loader(validation_, {.batch_size = 16});
  EXPECT_NEAR(evaluate(result.model, loader).loss, best, 1e-4 * best + 1e-5);
}

TEST_F(Train, DropoutDropsWhatTheSeedDecides) {
  const auto last_loss = [&](std::uint64_t seed, float ratio = 0.5f) {
    GraphBuilder builder("dropping");
    const ValueId input = builder.input("input", DataType::Float32, Shape{1, 64});
    builder.output(Sequential({Dropout(ratio), Linear(64, 4)})(builder, input), "output");
    TrainOptions options = small_training();
    options.seed = seed;
    return train_model(builder.finish(), training_, nullptr, options).epochs.back().loss;
  };
  EXPECT_EQ(last_loss(1), last_loss(1));
  EXPECT_NE(last_loss(1), last_loss(2));
  EXPECT_NE(last_loss(1), last_loss(1, 0.0f));
}

// As exporters leave a model that was being trained.
Graph network_in_training_mode() {
  Graph graph = small_network();
  for (std::uint32_t i = 0; i < graph.node_count(); ++i) {
    Node& node = graph.node(NodeId{i});
    if (node.is("BatchNormalization")) node.set("training_mode", std::int64_t{1});
  }
  return graph;
}

TEST_F(Train, AModelLeftInTrainingModeBecomesOneToRun) {
  const TrainResult plain = train_model(small_network(), training_, &validation_, small_training());
  const TrainResult left =
      train_model(network_in_training_mode(), training_, &validation_, small_training());
  EXPECT_EQ(*left.epochs.back().validation_loss, *plain.epochs.back().validation_loss);
  for (const Node& node : left.model.nodes()) EXPECT_EQ(node.int_or("training_mode", 0), 0);
  const Loader loader(validation_, {.batch_size = 16});
  // Timing may choose another algorithm for one of them.
  EXPECT_NEAR(evaluate(network_in_training_mode(), loader).loss,
              evaluate(small_network(), loader).loss, 1e-6);
}

TEST_F(Train, ADropoutLeftInTrainingModeIsDisabledInTheModel) {
  GraphBuilder builder("dropping");
  const ValueId input = builder.input("input", DataType::Float32, Shape{1, 64});
  const ValueId dropped = builder.node(
      "Dropout", "drop",
      {input, builder.filled("ratio", {}, 0.5f),
       builder.constant(
           "mode", Tensor::of<std::uint8_t>(DataType::Bool, {}, std::vector<std::uint8_t>{1}))});
  builder.output(Linear(64, 4)(builder, dropped), "output");
  const TrainResult result =
      train_model(builder.finish(), training_, &validation_, small_training());
  const Loader loader(validation_, {.batch_size = 16});
  EXPECT_NEAR(evaluate(result.model, loader).loss, *result.epochs.back().validation_loss, 1e-6);
}

TEST_F(Train, InPartsComesToTheSameWeights) {
  const auto trained = [&](std::int64_t parts, std::size_t pieces) {
    TrainOptions options = small_training();
    options.accumulate = parts;
    options.pieces = pieces;
    GraphBuilder builder("plain");  // a batch norm would see parts of the batch
    const ValueId input = builder.input("input", DataType::Float32, Shape{1, 64});
    builder.output(Sequential({Linear(64, 16), Relu(), Linear(16, 4)})(builder, input), "output");
    return train_model(builder.finish(), training_, nullptr, options).epochs.back().loss;
  };
  EXPECT_NEAR(trained(2, 1), trained(1, 1), 1e-4);
  EXPECT_NEAR(trained(1, 2), trained(1, 1), 1e-4);
  EXPECT_THROW(trained(7, 1), Error);
}

TEST_F(Train, DropoutsDropTheSameAfterAResume) {
  GraphBuilder builder("dropping");
  const ValueId input = builder.input("input", DataType::Float32, Shape{1, 64});
  builder.output(Sequential({Dropout(), Linear(64, 4)})(builder, input), "output");
  const Graph model = builder.finish();
  const auto trained = [&](const TrainOptions& options) {
    return train_model(model, training_, nullptr, options).model;
  };
  TrainOptions parts = small_training();
  const Graph whole = trained(parts);
  parts.checkpoint = folder_ / "training.npz";
  parts.resume = true;
  parts.epochs = 1;
  trained(parts);
  parts.epochs = 2;
  EXPECT_EQ(trained(parts), whole);
}

TEST_F(Train, NeedsNoValidation) {
  const TrainResult result = train_model(small_network(), training_, nullptr, small_training());
  EXPECT_FALSE(result.epochs.back().validation_loss.has_value());
  EXPECT_EQ(result.best_epoch, 2);
}

TEST_F(Train, OptionsOutOfRangeAreNamedBeforeAnyWork) {
  const auto refused = [&](auto change) {
    TrainOptions options = small_training();
    change(options);
    return complaint(ErrorKind::Usage, options);
  };
  EXPECT_THAT(refused([](auto& o) { o.learning_rate = 0; }), HasSubstr("learning rate is 0"));
  EXPECT_THAT(refused([](auto& o) { o.learning_rate = -1; }), HasSubstr("learning rate is -1"));
  EXPECT_THAT(refused([](auto& o) { o.learning_rate = NAN; }), HasSubstr("learning rate is nan"));
  EXPECT_THAT(refused([](auto& o) { o.epochs = 0; }), HasSubstr("epochs is 0"));
  EXPECT_THAT(refused([](auto& o) { o.batch_size = 0; }), HasSubstr("batch size is 0"));
  EXPECT_THAT(refused([](auto& o) { o.patience = -1; }), HasSubstr("patience is -1"));
  EXPECT_THAT(refused([](auto& o) { o.optimizer.momentum = 1; }), HasSubstr("momentum is 1"));
  EXPECT_THAT(refused([](auto& o) { o.optimizer.weight_decay = -1; }), HasSubstr("decay is -1"));
  EXPECT_THAT(refused([](auto& o) { o.loss = Loss::SumOfSquares; }), HasSubstr("sum-of-squares"));
  EXPECT_THAT(refused([](auto& o) { o.resume = true; }), HasSubstr("checkpoint"));
}

TEST_F(Train, ABatchLargerThanTheDataIsRefusedWithBothNumbers) {
  TrainOptions options = small_training();
  options.batch_size = 201;
  EXPECT_THAT(complaint(ErrorKind::BadInput, options),
              AllOf(HasSubstr("batch of 201"), HasSubstr("200 samples")));
}

TEST_F(Train, TooHighARateIsReportedWithTheLayer) {
  TrainOptions options = small_training();
  options.learning_rate = 1e30;
  options.optimizer.kind = OptimizerKind::Sgd;
  EXPECT_THAT(complaint(ErrorKind::Failed, options),
              AllOf(HasSubstr("epoch 1, step"), HasSubstr("layer '"), HasSubstr("1e+30")));
}

TEST_F(Train, WeightsThatAreNotFiniteCannotBegin) {
  GraphBuilder builder("broken");
  const ValueId input = builder.input("input", DataType::Float32, Shape{1, 64});
  const ValueId weight = builder.filled("weight", {64, 4}, std::numeric_limits<float>::infinity());
  builder.output(builder.node("MatMul", "product", {input, weight}), "output");
  const Graph model = builder.finish();
  EXPECT_THAT(error_message(ErrorKind::BadInput,
                            [&] { train_model(model, training_, nullptr, small_training()); }),
              HasSubstr("'weight' holds NaN or an infinity"));
}

// Counts the reports, and cancels after a number of steps.
class Listener : public TrainProgress {
 public:
  explicit Listener(int cancel_after = 1'000'000) : cancel_after_(cancel_after) {}
  void stepped(const TrainMoment& moment) override {
    ++steps;
    last = moment;
  }
  void finished(const EpochResult&) override { ++epochs; }
  bool cancelled() const override { return steps >= cancel_after_; }

  int steps = 0;
  int epochs = 0;
  TrainMoment last;

 private:
  int cancel_after_ = 0;
};

TEST_F(Train, ReportsEveryStepAndEpoch) {
  Listener listener;
  train(small_training(), &listener);
  EXPECT_EQ(listener.steps, 2 * (200 / 16));
  EXPECT_EQ(listener.epochs, 2);
  EXPECT_EQ(listener.last.epoch, 2);
  EXPECT_EQ(listener.last.step, 12);
  EXPECT_EQ(listener.last.steps, 12);
  EXPECT_GT(listener.last.samples_per_second, 0);
  EXPECT_DOUBLE_EQ(listener.last.seconds_left, 0);
}

TEST_F(Train, CancellingStopsAfterTheStepAndKeepsTheCheckpoint) {
  TrainOptions options = small_training();
  options.checkpoint = folder_ / "training.npz";
  Listener listener(15);
  EXPECT_THAT(error_message(ErrorKind::Cancelled, [&] { train(options, &listener); }),
              AllOf(HasSubstr("epoch 2 after step 3 of 12"), HasSubstr("up to epoch 1")));
  options.resume = true;
  const TrainResult resumed = train(options);
  EXPECT_EQ(resumed.resumed_after, 1);
  options.checkpoint = "";
  options.resume = false;
  EXPECT_EQ(resumed.model, train(options).model);
}

}  // namespace
}  // namespace assay
