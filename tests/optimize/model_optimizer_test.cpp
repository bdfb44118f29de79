#include <gtest/gtest.h>

#include "assay/builder.h"
#include "assay/memory_budget.h"
#include "assay/optimize.h"
#include "assay/zoo.h"
#include "support/error_message.h"

namespace assay {
namespace {

OptimizeOptions quick() {
  OptimizeOptions options;
  options.program.cpu.threads = 1;
  options.program.optimize_for = OptimizeFor::Memory;
  options.timing = {.fixed_warmup = 1, .fixed_samples = 5};
  return options;
}

OptimizeData eight_inputs(const Graph& model) {
  OptimizeData data;
  data.inputs = seeded_inputs(model, {}, 8, 1);
  return data;
}

// Cancels after N questions.
class Impatient : public Progress {
 public:
  explicit Impatient(int patience) : patience_(patience) {}
  bool cancelled() const override { return --patience_ < 0; }

 private:
  mutable int patience_ = 0;
};

TEST(ModelOptimizer, AFixedRecipeIsMadeWhateverItCosts) {
  const Graph model = zoo_model("small_cnn");
  OptimizeOptions options = quick();
  options.prune = 0.5;
  options.precision = VariantPrecision::BFloat16;
  ModelOptimizer optimizer(model, eight_inputs(model), options);
  const OptimizeResult result = optimizer.search({});
  ASSERT_EQ(result.chosen, 0);
  EXPECT_TRUE(result.met);
  // 8 filters of 3×3 and 16 of 8×3×3, a classifier of 16·7·7 by 10, and all biases; two bytes each.
  const double parameters = 8 * 9 + 8 + 16 * 8 * 9 + 16 + 16 * 49 * 10 + 10;
  EXPECT_EQ(result.best().cost->parameters, parameters);
  EXPECT_NEAR(model_memory_mb(result.model), 2 * parameters / 1024 / 1024, 1e-4);
}

TEST(ModelOptimizer, ATargetOfMemoryIsMetByTheSmallestChange) {
  const Graph model = zoo_model("small_cnn");  // 20,490 parameters: 0.0782 MB
  ModelOptimizer optimizer(model, eight_inputs(model), quick());
  const OptimizeResult half = optimizer.search({.target_mb = 0.05});
  EXPECT_TRUE(half.met);
  EXPECT_EQ(half.best().recipe, (VariantRecipe{0, VariantPrecision::Float16}));
  EXPECT_EQ(half.trail.size(), 1);
  const OptimizeResult quarter = optimizer.search({.target_mb = 0.02});
  EXPECT_TRUE(quarter.met);
  EXPECT_GT(quarter.best().recipe.prune, 0);
  EXPECT_LE(model_memory_mb(quarter.model), 0.02);
  EXPECT_EQ(quarter.trail.front().recipe, half.best().recipe);  // remembered, not made again
}

TEST(ModelOptimizer, AModelThatMeetsTheTargetStaysAsItIs) {
  const Graph model = zoo_model("small_cnn");
  ModelOptimizer optimizer(model, eight_inputs(model), quick());
  const OptimizeResult result = optimizer.search({.target_mb = 1});
  EXPECT_TRUE(result.met);
  EXPECT_FALSE(result.chosen);
  EXPECT_TRUE(result.trail.empty());
  EXPECT_EQ(result.model, model);
}

TEST(ModelOptimizer, AnImpossibleTargetGivesTheNearest) {
  const Graph model = zoo_model("small_cnn");
  ModelOptimizer optimizer(model, eight_inputs(model), quick());
  const OptimizeResult result = optimizer.search({.target_mb = 1e-6});
  EXPECT_FALSE(result.met);
  ASSERT_TRUE(result.chosen);
  for (const OptimizeTrial& trial : result.trail) {
    ASSERT_TRUE(trial.cost);
    EXPECT_GE(trial.cost->memory_mb, result.best().cost->memory_mb);
  }
}

// Levels are searched without fine-tuning; what is chosen in the end is trained and judged.
TEST(ModelOptimizer, TheNearestVersionIsFineTunedAndJudged) {
  const Graph model = zoo_model("small_cnn");
  OptimizeOptions options = quick();
  options.finetune_epochs = 1;
  ModelOptimizer optimizer(model,
                           labelled_data(model,
                                         {.training = load_dataset("synthetic", {.size = 128}),
                                          .validation = load_dataset("synthetic", {.size = 32})},
                                         8, 0),
                           options);
  const OptimizeResult result = optimizer.search({.target_mb = 1e-6, .max_loss = 100});
  EXPECT_FALSE(result.met);
  EXPECT_GT(result.best().recipe.prune, 0);
  ASSERT_TRUE(result.best().quality);
  EXPECT_TRUE(result.best().loss_points);
}

Figures figure(double value) {
  return {{.value = value, .source = "test", .provenance = FigureProvenance::Measured}};
}

// Fifty times as slow in float32 as its memory is, so that latency follows from MACs.
TargetDevice made_up_device() {
  Device device{.id = "made-up", .name = "Made up", .kind = DeviceKind::SingleBoard};
  device.cores = figure(1);
  device.memory_bytes = figure(1e9);
  device.memory_bandwidth_gbps = figure(50);
  device.peaks["fp32"] = figure(1);
  Calibration calibration{.threads = 1, .step_overhead_ms = 0};
  for (const char* op_class : {"convolution", "product"}) {
    calibration.samples.push_back({.family = "a",
                                   .op_class = op_class,
                                   .flops = 1e6,
                                   .weight_bytes = 1000,
                                   .activation_bytes = 1000,
                                   .roof_ms = 0.5,
                                   .time_ms = 1});
  }
  calibration.held_out = {{"a", 10, 11, 1}, {"b", 10, 8, 1}, {"c", 10, 10, 1}};
  return {device, calibration};
}

// Predicted latencies do not depend on this machine: half of the MACs take about half of the time.
TEST(ModelOptimizer, ATargetForADeviceIsJudgedByItsPrediction) {
  const Graph model = zoo_model("small_cnn");
  OptimizeOptions options = quick();
  options.device = made_up_device();
  options.precision = VariantPrecision::AsStored;
  ModelOptimizer optimizer(model, eight_inputs(model), options);
  const double original_ms = *optimizer.original().cost->on_device->estimate_ms;
  const OptimizeResult half = optimizer.search({.target_ms = original_ms / 2});
  EXPECT_TRUE(half.met);
  EXPECT_LE(half.best().cost->judged_ms(), original_ms / 2);
  // A margin makes the search go further, though the version before meets the target as well.
  const OptimizeResult safe = optimizer.search({.target_ms = original_ms / 2, .margin = 0.5});
  EXPECT_TRUE(safe.met);
  EXPECT_LE(safe.best().cost->judged_ms(), original_ms / 4);
  EXPECT_GT(safe.best().recipe.prune, half.best().recipe.prune);
  EXPECT_TRUE(safe.trail[*half.chosen].meets_target);
}

TEST(ModelOptimizer, WithinTheLossMeansAgreementWithoutLabels) {
  const Graph model = zoo_model("small_cnn");
  ModelOptimizer optimizer(model, eight_inputs(model), quick());
  const OptimizeResult result = optimizer.search({.target_mb = 0.001, .max_loss = 0});
  EXPECT_FALSE(result.met);
  EXPECT_EQ(result.best().quality->agreement, 1);
}

TEST(ModelOptimizer, StoppedItGivesTheBestSoFar) {
  const Graph model = zoo_model("small_cnn");
  ModelOptimizer optimizer(model, eight_inputs(model), quick());
  optimizer.search({.target_mb = 0.05});  // fp16
  Impatient impatient(0);
  const OptimizeResult result = optimizer.search({.target_mb = 0.001}, &impatient);
  EXPECT_TRUE(result.interrupted);
  EXPECT_FALSE(result.met);
  EXPECT_EQ(result.best().recipe.precision, VariantPrecision::Float16);
}

// 784·256 weights with the rank ⌊0.5·784·256 / 1040⌋ = 96, the other layers as they were.
TEST(ModelOptimizer, LargeMatricesAreWrittenInLowRank) {
  const Graph model = zoo_model("mlp");
  OptimizeOptions options = quick();
  options.low_rank = 0.5;
  ModelOptimizer optimizer(model, eight_inputs(model), options);
  // For a size, all large matrices are factorised, whatever they take.
  const OptimizeResult result = optimizer.search({.target_mb = 0.55});
  EXPECT_TRUE(result.met);
  EXPECT_EQ(result.best().recipe, (VariantRecipe{.low_rank = 0.5}));
  ASSERT_EQ(result.low_rank.size(), 1u);
  EXPECT_EQ(result.low_rank[0].rank, 96);
  EXPECT_EQ(result.best().cost->parameters,
            96 * (784 + 256) + 256 + 256 * 128 + 128 + 128 * 10 + 10);
}

TEST(ModelOptimizer, AModelWithoutLargeMatricesHasNoLowRank) {
  const Graph model = zoo_model("small_cnn");
  OptimizeOptions options = quick();
  options.low_rank = 0.5;
  ModelOptimizer optimizer(model, eight_inputs(model), options);
  EXPECT_NE(error_message([&] { optimizer.search({}); }).find("256 rows and columns"),
            std::string::npos);
}

// The same product twice, with matrices that are equal, and a node that does nothing.
Graph untidy_model() {
  GraphBuilder builder("untidy");
  const ValueId x = builder.input("x", DataType::Float32, Shape{1, 128});
  const ValueId a = builder.node("MatMul", "a", {x, builder.filled("w1", {128, 128}, 0.1f)});
  const ValueId b = builder.node("MatMul", "b", {x, builder.filled("w2", {128, 128}, 0.1f)});
  builder.output(builder.node("Add", "sum", {builder.node("Identity", "idle", {a}), b}), "y");
  return builder.finish();
}

TEST(ModelOptimizer, AnUntidyModelIsTidiedFirst) {
  const Graph model = untidy_model();  // 2·128·128·4 bytes: 0.125 MB
  ModelOptimizer optimizer(model, eight_inputs(model), quick());
  const OptimizeResult result = optimizer.search({.target_mb = 0.07});
  EXPECT_TRUE(result.met);
  EXPECT_EQ(result.best().recipe, (VariantRecipe{.tidy = true}));
  // Equal to the last bit, unless timing chose another algorithm for the product.
  EXPECT_GT(result.best().quality->snr_db.value_or(200), 120);
  EXPECT_EQ(result.model.node_count(), 2u);  // MatMul and Add
  EXPECT_EQ(result.best().notes,
            (std::vector<std::string>{"removed without changing a result: 1 idle node, 1 repeated "
                                      "node, 1 repeated weight"}));
  // Other versions are tidied too.
  const OptimizeResult half = optimizer.search({.target_mb = 0.04});
  EXPECT_EQ(half.best().recipe,
            (VariantRecipe{.precision = VariantPrecision::Float16, .tidy = true}));
  EXPECT_EQ(std::ranges::count(half.model.nodes(), "MatMul", &Node::op), 1);
}

TEST(ModelOptimizer, AnUntidyModelStaysSoOnRequest) {
  const Graph model = untidy_model();
  OptimizeOptions options = quick();
  options.tidies = false;
  options.precision = VariantPrecision::Float16;
  ModelOptimizer optimizer(model, eight_inputs(model), options);
  const OptimizeResult result = optimizer.search({});
  EXPECT_EQ(std::ranges::count(result.model.nodes(), "MatMul", &Node::op), 2);
}

TEST(ModelOptimizer, MistakesAreNamedBeforeAnyWork) {
  const Graph model = zoo_model("small_cnn");
  OptimizeOptions level = quick();
  level.prune = 1;
  EXPECT_NE(error_message([&] { ModelOptimizer(model, {}, level); }).find("`prune` 1"),
            std::string::npos);
  OptimizeOptions share = quick();
  share.low_rank = 1;
  EXPECT_NE(error_message([&] { ModelOptimizer(model, {}, share); }).find("`low_rank` 1"),
            std::string::npos);
  OptimizeOptions int8 = quick();
  int8.precision = VariantPrecision::Int8;
  EXPECT_NE(error_message([&] { ModelOptimizer(model, {}, int8); }).find("calibrate"),
            std::string::npos);
  OptimizeOptions tuned = quick();
  tuned.finetune_epochs = 1;
  EXPECT_NE(error_message([&] { ModelOptimizer(model, {}, tuned); }).find("labels"),
            std::string::npos);
  ModelOptimizer optimizer(model, eight_inputs(model), quick());
  EXPECT_NE(error_message([&] { optimizer.search({.target_ms = -1}); }).find("`target_ms`"),
            std::string::npos);
}

TEST(ModelOptimizer, PrecisionsHaveNames) {
  for (const char* word :
       {"fp32", "fp16", "bf16", "weights-int8", "weights-int4", "dynamic", "int8"}) {
    EXPECT_EQ(name(variant_precision_named(word)), word);
  }
  EXPECT_EQ(describe(VariantRecipe{}), "unchanged");
  EXPECT_EQ(describe({0.25, VariantPrecision::Int8}), "int8, pruned by 0.25");
  EXPECT_EQ(describe({0.5}), "pruned by 0.5");
  EXPECT_EQ(describe({0.5, VariantPrecision::Int8, 0.25, true}),
            "int8, low rank 0.25, pruned by 0.5");
  EXPECT_EQ(describe({.tidy = true}), "tidied");
}

CalibrationData batches(const Graph& model, std::int64_t count) {
  std::vector<std::vector<Tensor>> all;
  for (ModelInputs& inputs : seeded_inputs(model, {}, count, 1)) all.push_back(inputs.tensors);
  return calibration_data(std::move(all));
}

TEST(UnlabelledData, EveryFourthBatchIsSetAsideToJudgeOn) {
  const Graph model = zoo_model("small_cnn");
  const OptimizeData data = unlabelled_data(model, batches(model, 9));
  EXPECT_EQ(data.inputs.size(), 2);
  EXPECT_EQ(data.calibration.batches, 7);
  EXPECT_TRUE(data.warnings.empty());
  const OptimizeData few = unlabelled_data(model, batches(model, 2));
  EXPECT_EQ(few.inputs.size(), 2);
  EXPECT_EQ(few.calibration.batches, 2);
  EXPECT_EQ(few.warnings.size(), 1);
}

TEST(UnlabelledData, ABatchOfAnotherShapeIsNamed) {
  const CalibrationData wrong = calibration_data({{Tensor::of_float({1, 1, 2, 2}, {1, 2, 3, 4})}});
  EXPECT_NE(error_message([&] {
              unlabelled_data(zoo_model("small_cnn"), wrong);
            }).find("1x1x2x2, but input 'input' is float32[1x1x28x28]"),
            std::string::npos);
}

}  // namespace
}  // namespace assay
