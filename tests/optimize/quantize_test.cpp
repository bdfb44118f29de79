#include "assay/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "assay/builder.h"
#include "assay/npy.h"
#include "assay/zoo.h"
#include "profile/compiled_model.h"
#include "support/error_message.h"
#include "support/scratch_folder.h"

namespace assay {
namespace {

std::vector<std::vector<Tensor>> random_batches(const std::vector<std::int64_t>& dims,
                                                std::size_t count) {
  std::vector<std::vector<Tensor>> batches;
  for (std::size_t i = 0; i < count; ++i)
    batches.push_back(random_inputs({{"x", tensor_type(DataType::Float32, Shape(dims))}}, i));
  return batches;
}

std::vector<float> outputs_of(const Graph& model, const std::vector<Tensor>& batch,
                              const std::string& engine) {
  ProgramOptions options;
  options.engine = engine;
  const auto program = profile::compiled_for(model, batch, options);
  program->run();
  return program->results().front().to_vector<float>();
}

double snr_db(const std::vector<float>& real, const std::vector<float>& other) {
  double signal = 0, error = 0;
  for (std::size_t i = 0; i < real.size(); ++i) {
    signal += static_cast<double>(real[i]) * real[i];
    error += std::pow(static_cast<double>(real[i]) - other[i], 2);
  }
  return 10 * std::log10(signal / error);
}

// [1, 2] · diag(3, 4) + (1, 0): results from the inputs given.
Graph small_product() {
  GraphBuilder builder("small");
  const ValueId x = builder.input("x", DataType::Float32, Shape({1, 2}));
  const ValueId w = builder.constant("w", Tensor::of_float({2, 2}, {3, 0, 0, 4}));
  const ValueId b = builder.constant("b", Tensor::of_float({2}, {1, 0}));
  builder.output(builder.node("Gemm", "layer", {x, w, b}), "y");
  return builder.finish();
}

TEST(Quantize, ScalesFollowFromRangesAndWeights) {
  const auto data = calibration_data({{Tensor::of_float({1, 2}, {-1, 1.55f})}});
  const auto result = quantize_model(small_product(), data, {.correct_bias = false});
  ASSERT_EQ(result.layers.size(), 1u);
  const QuantizedLayer& layer = result.layers[0];
  EXPECT_EQ(layer.type, "int8");
  EXPECT_FLOAT_EQ(layer.input_scale, 2.55f / 255);  // from -1 to 1.55
  EXPECT_EQ(layer.input_zero_point, 100);           // 1 / 0.01
  EXPECT_THAT(layer.weight_scales, testing::ElementsAre(3.0f / 127, 4.0f / 127));
  EXPECT_FLOAT_EQ(layer.output_scale, (6.2f + 2) / 255);  // from -1·3 + 1 to 1.55·4
}

TEST(Quantize, QuantisedSmallCnnStaysCloseOnBothEngines) {
  const Graph model = zoo_model("small_cnn");
  const auto batches = random_batches({4, 1, 28, 28}, 3);
  const auto result = quantize_model(model, calibration_data(batches));
  EXPECT_THAT(result.warnings, testing::IsEmpty());
  ASSERT_EQ(result.layers.size(), 3u);
  for (const QuantizedLayer& layer : result.layers) EXPECT_EQ(layer.type, "int8");
  EXPECT_EQ(result.samples, 12u);
  const auto real = outputs_of(model, batches[0], "cpu");
  EXPECT_GT(snr_db(real, outputs_of(result.graph, batches[0], "reference")), 30);
  EXPECT_GT(snr_db(real, outputs_of(result.graph, batches[0], "cpu")), 30);
}

TEST(Quantize, WithoutDataIsRefused) {
  EXPECT_THAT(error_message(ErrorKind::BadInput,
                            [] { quantize_model(small_product(), calibration_data({})); }),
              testing::HasSubstr("there is no calibration data"));
}

TEST(Quantize, InputsThatDoNotFitAreNamed) {
  const auto two =
      calibration_data({{Tensor::of_float({1, 2}, {1, 2}), Tensor::of_float({1}, {1})}});
  EXPECT_THAT(error_message([&] { quantize_model(small_product(), two); }),
              testing::HasSubstr("the model has 1 inputs, 2 given"));
  const auto wide = calibration_data({{Tensor::of_float({1, 3}, {1, 2, 3})}});
  EXPECT_THAT(error_message([&] { quantize_model(small_product(), wide); }),
              testing::HasSubstr("3 against 2"));
}

TEST(Quantize, NumbersThatAreNotFiniteAreRefusedByName) {
  const auto data = calibration_data({{Tensor::of_float({1, 2}, {1, std::nanf("")})}});
  EXPECT_THAT(error_message([&] { quantize_model(small_product(), data); }),
              testing::HasSubstr("the calibration data for input 'x'"));
  const auto large = calibration_data({{Tensor::of_float({1, 2}, {1, 3e38f})}});
  EXPECT_THAT(error_message([&] { quantize_model(small_product(), large); }),
              testing::HasSubstr("Gemm 'layer': its result 'y'"));
}

TEST(Quantize, AWeightThatIsNotFiniteIsRefusedByName) {
  GraphBuilder builder("bad");
  const ValueId x = builder.input("x", DataType::Float32, Shape({1, 1}));
  const ValueId w = builder.constant("w", Tensor::of_float({1, 1}, {HUGE_VALF}));
  const ValueId product = builder.node("Gemm", "layer", {x, w});
  builder.output(builder.node("Relu", "after", {product}), "y");
  const Graph model = builder.finish();
  const auto data = calibration_data({{Tensor::of_float({1, 1}, {1})}});
  EXPECT_THAT(error_message(ErrorKind::BadInput, [&] { quantize_model(model, data); }),
              testing::HasSubstr("Gemm 'layer': its weight 'w' has a number that is not finite"));
}

TEST(Quantize, ConstantActivationsAreReported) {
  const auto data = calibration_data({{Tensor::of_float({1, 2}, {0, 0})}});
  const auto result = quantize_model(small_product(), data);
  EXPECT_THAT(result.warnings,
              testing::Contains("'x' is 0 in every element of the calibration data"));
  EXPECT_EQ(result.layers[0].input_scale, 1.0f);
}

TEST(Quantize, ModelsQuantisedAlreadyAreKept) {
  const auto data = calibration_data({{Tensor::of_float({1, 2}, {-1, 1})}});
  const Graph once = quantize_model(small_product(), data).graph;
  const auto twice = quantize_model(once, data);
  EXPECT_TRUE(twice.graph == once);
  ASSERT_EQ(twice.warnings.size(), 1u);
  EXPECT_THAT(twice.warnings[0], testing::HasSubstr("quantised already"));
}

TEST(Quantize, UnknownLayersToKeepAreRefused) {
  const auto data = calibration_data({{Tensor::of_float({1, 2}, {-1, 1})}});
  EXPECT_THAT(
      error_message(ErrorKind::Usage,
                    [&] { quantize_model(small_product(), data, {.keep_float = {"lier"}}); }),
      testing::HasSubstr("no layer 'lier'"));
}

// Every step of its own computes in 8 bits, and none falls back.
void expect_8_bit_steps(const Graph& model, const std::vector<Tensor>& batch) {
  const auto program = profile::compiled_for(model, batch, {});
  for (const StepInfo& step : program->steps()) {
    EXPECT_EQ(step.fell_back, "") << step.name;
    const bool is_layer = step.op == "Conv" || step.op == "Gemm" || step.op == "MatMul";
    EXPECT_TRUE(!is_layer || step.precision == "int8") << step.op << " " << step.name;
  }
}

TEST(Quantize, ResidualNetworksRunInEightBitsThroughout) {
  const Graph model = zoo_model("resnet18");
  const auto batches = random_batches({1, 3, 224, 224}, 1);
  const auto result = quantize_model(model, calibration_data(batches));
  expect_8_bit_steps(result.graph, batches[0]);
  const auto real = outputs_of(model, batches[0], "cpu");
  EXPECT_GT(snr_db(real, outputs_of(result.graph, batches[0], "cpu")), 15);
}

TEST(Quantize, MethodsDifferInHowMuchTheyCutOff) {
  std::vector<float> numbers(4096, 0);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = std::sin(static_cast<float>(i) * 0.7f);
  numbers[100] = 40;  // far out
  GraphBuilder builder("row");
  const ValueId x = builder.input("x", DataType::Float32, Shape({4096, 1}));
  const ValueId w = builder.constant("w", Tensor::of_float({1, 1}, {1}));
  builder.output(builder.node("Gemm", "layer", {x, w}), "y");
  const Graph model = builder.finish();
  const auto data = calibration_data({{Tensor::of_float({4096, 1}, numbers)}});
  const auto scale = [&](CalibrationMethod method) {
    return quantize_model(model, data, {.calibration = method, .percentile = 99.9})
        .layers[0]
        .input_scale;
  };
  EXPECT_FLOAT_EQ(scale(CalibrationMethod::MinMax), 41.0f / 255);
  EXPECT_LT(scale(CalibrationMethod::Percentile), 3.0f / 255);  // one of 4096 lies outside
  EXPECT_LT(scale(CalibrationMethod::Entropy), 41.0f / 255);
  EXPECT_LE(scale(CalibrationMethod::Mse), 41.0f / 255);
}

TEST(Ranges, EntropyIsNotMisledByTheZerosOfARelu) {
  // Half zeros, half evenly spread from 0 to 6: nothing may be cut off.
  std::vector<float> numbers(4000, 0);
  for (std::size_t i = 0; i < 2000; ++i) numbers[i] = static_cast<float>(i) * 6 / 2000;
  GraphBuilder builder("row");
  const ValueId x = builder.input("x", DataType::Float32, Shape({4000, 1}));
  const ValueId w = builder.constant("w", Tensor::of_float({1, 1}, {1}));
  builder.output(builder.node("Gemm", "layer", {x, w}), "y");
  const auto data = calibration_data({{Tensor::of_float({4000, 1}, numbers)}});
  const auto result =
      quantize_model(builder.finish(), data, {.calibration = CalibrationMethod::Entropy});
  EXPECT_GT(result.layers[0].input_scale, 5.9f / 255);
}

// Values observed inside a model are those that the reference engine computes.
TEST(Observe, WatchedValuesDoNotDisturbEachOther) {
  const Graph model = zoo_model("resnet18");
  const auto batches = random_batches({1, 3, 224, 224}, 1);
  const auto fast = quantize_model(model, calibration_data(batches));
  QuantizeOptions untuned;
  untuned.program.optimize_for = OptimizeFor::Memory;
  const auto plain = quantize_model(model, calibration_data(batches), untuned);
  ASSERT_EQ(fast.activations.size(), plain.activations.size());
  for (std::size_t i = 0; i < fast.activations.size(); ++i)
    EXPECT_NEAR(fast.activations[i].greatest, plain.activations[i].greatest,
                1e-3 * plain.activations[i].greatest)
        << fast.activations[i].value;
}

TEST(Sensitivity, IsMeasuredForEveryLayerAlone) {
  const Graph model = zoo_model("small_cnn");
  const auto data = calibration_data(random_batches({2, 1, 28, 28}, 2));
  const auto found = measure_sensitivity(model, data);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].layer, "conv1");
  for (const LayerSensitivity& layer : found) {
    EXPECT_GT(layer.snr_db, 20) << layer.layer;
    EXPECT_GE(layer.agreement, 0.5);
    EXPECT_GT(layer.mean_squared_error, 0);
  }
}

TEST(Mixed, KeepsAsFewLayersFloatAsTheLossAllows) {
  const Graph model = zoo_model("small_cnn");
  const auto data = calibration_data(random_batches({2, 1, 28, 28}, 1));
  // A score that loses 1 point for each layer whose weight is dequantised.
  const ModelScore score = [](const Graph& graph) {
    double points = 100;
    for (const Node& node : graph.nodes()) {
      const bool is_layer = node.is("Conv") || node.is("Gemm");
      points -= is_layer && graph.producer(node.inputs[1]).is_valid() ? 1 : 0;
    }
    return points;
  };
  const auto all = quantize_mixed(model, data, score, {.max_loss = 3, .keep_faster_float = false});
  EXPECT_TRUE(all.met);
  EXPECT_THAT(all.kept_float, testing::IsEmpty());
  const auto some = quantize_mixed(model, data, score, {.max_loss = 1, .keep_faster_float = false});
  EXPECT_TRUE(some.met);
  EXPECT_EQ(some.kept_float.size(), 2u);
  EXPECT_EQ(some.score, 99);
}

TEST(Dynamic, ProductsStayCloseToFloat) {
  const Graph model = zoo_model("mlp");
  const std::vector<Tensor> batch = {Tensor::of_float({1, 784}, std::vector<float>(784, 0.5f))};
  const auto result = quantize_dynamic(model);
  EXPECT_GT(snr_db(outputs_of(model, batch, "cpu"), outputs_of(result.graph, batch, "cpu")), 25);
  EXPECT_GT(snr_db(outputs_of(model, batch, "cpu"), outputs_of(result.graph, batch, "reference")),
            25);
}

TEST(CalibrationFolder, FilesBelongToTheInputTheirNameBeginsWith) {
  GraphBuilder builder("two");
  const ValueId a = builder.input("a", DataType::Float32, Shape({1, 2}));
  const ValueId b = builder.input("b", DataType::Float32, Shape({1, 2}));
  builder.output(builder.node("Add", "sum", {a, b}), "y");
  const Graph model = builder.finish();
  const ScratchFolder folder;
  write_npy(Tensor::of_float({2}, {1, 2}), folder.path() / "a_0.npy");
  EXPECT_THAT(error_message([&] { calibration_folder(folder.path(), model); }),
              testing::HasSubstr("b_0.npy"));
  write_npy(Tensor::of_float({1, 2}, {3, 4}), folder.path() / "b_0.npy");
  const CalibrationData data = calibration_folder(folder.path(), model);
  ASSERT_EQ(data.batches, 1u);
  EXPECT_THAT(data.batch(0)[0].dims(), testing::ElementsAre(1, 2));
  EXPECT_THAT(data.batch(0)[1].to_vector<float>(), testing::ElementsAre(3, 4));
}

TEST(CalibrationFolder, WithoutFilesIsRefused) {
  const ScratchFolder folder;
  EXPECT_THAT(error_message(ErrorKind::BadInput,
                            [&] { calibration_folder(folder.path(), small_product()); }),
              testing::HasSubstr("no .npy file"));
}

}  // namespace
}  // namespace assay
