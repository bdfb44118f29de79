#include "assay/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "assay/builder.h"
#include "assay/zoo.h"
#include "profile/compiled_model.h"
#include "support/error_message.h"

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

}  // namespace
}  // namespace assay
