// The quantised operators of com.microsoft. Where the arithmetic is not written out, the expected
// numbers come from ONNX Runtime 1.31.
#include <cmath>

#include "kernels/kernel_runner.h"

namespace assay {

using namespace assay::kernels;

namespace {

Case quantised(const char* op, std::vector<Tensor> inputs, std::vector<Attribute> attributes = {},
               std::size_t outputs = 1) {
  return {op, std::move(inputs), std::move(attributes), 1, outputs, "com.microsoft"};
}

Tensor scale(float number) {
  return real_tensor({}, {number});
}
Tensor zero_point(std::uint8_t number) {
  return bytes_tensor({}, {number});
}
Tensor signed_bytes(Sizes dims, const std::vector<std::int8_t>& values) {
  return whole_tensor<std::int8_t>(DataType::Int8, std::move(dims), values);
}
Tensor whole_numbers(Sizes dims, const std::vector<std::int32_t>& values) {
  return whole_tensor<std::int32_t>(DataType::Int32, std::move(dims), values);
}

TEST(QLinearAdd, BroadcastsAndRoundsOnce) {
  const Tensor a = bytes_tensor({2, 2}, {10, 20, 30, 40});
  const Tensor b = bytes_tensor({2}, {0, 200});
  const Case test = quantised("QLinearAdd", {a, scale(0.5f), zero_point(10), b, scale(0.25f),
                                             zero_point(100), scale(1), zero_point(3)});
  // (0, 5, 10, 15) + (-25, 25), then + 3 and saturated
  EXPECT_EQ(result_of(test).to_int64(), (Sizes{0, 33, 0, 43}));
  const Case without =
      quantised("QLinearAdd", {a, scale(0.25f), Tensor(), a, scale(0.25f), Tensor(), scale(1)});
  EXPECT_EQ(result_of(without).to_int64(), (Sizes{5, 10, 15, 20}));
}

TEST(QLinearAdd, RoundsHalvesToEven) {
  const Tensor a = bytes_tensor({3}, {1, 3, 5});
  const Tensor b = bytes_tensor({1}, {0});
  const Case test = quantised("QLinearAdd", {a, scale(0.1f), Tensor(), b, scale(0.1f), Tensor(),
                                             scale(0.2f), zero_point(0)});
  EXPECT_EQ(result_of(test).to_int64(), (Sizes{0, 2, 2}));  // 0.5, 1.5, 2.5
}

TEST(QLinearMul, TakesSignedNumbers) {
  const Tensor a = signed_bytes({1, 2, 1}, {-100, 50});
  const Tensor b = signed_bytes({1, 1, 2}, {4, -8});
  const Tensor zero = signed_bytes({}, {0});
  const Case test =
      quantised("QLinearMul", {a, scale(0.5f), zero, b, scale(0.5f), zero, scale(2), zero});
  // -50 · 2 / 2, -50 · -4 / 2, 25 · 2 / 2, 25 · -4 / 2
  EXPECT_EQ(result_of(test).to_int64(), (Sizes{-50, 100, 25, -50}));
  EXPECT_EQ(result_of(test).dims(), (Sizes{1, 2, 2}));
}

TEST(QLinearConcat, BringsPartsToOneScale) {
  const Case test =
      quantised("QLinearConcat",
                {scale(0.5f), zero_point(1), bytes_tensor({1, 2}, {10, 20}), scale(1),
                 zero_point(10), bytes_tensor({1, 1}, {8}), scale(0.25f), zero_point(0)},
                {number("axis", 1)});
  EXPECT_EQ(result_of(test).to_int64(), (Sizes{1, 21, 5}));  // 0, 10, 2 over 0.5, + 1
}

TEST(QLinearAveragePool, ReadsChannelsInEitherPlace) {
  const Tensor planes = bytes_tensor({1, 2, 1, 4}, {1, 3, 5, 7, 10, 30, 50, 70});
  const std::vector<Tensor> others = {scale(1), zero_point(0), scale(1), zero_point(0)};
  std::vector<Tensor> inputs = {planes};
  inputs.insert(inputs.end(), others.begin(), others.end());
  const std::vector<Attribute> windows = {list("kernel_shape", {1, 2}), list("strides", {1, 2})};
  EXPECT_EQ(result_of(quantised("QLinearAveragePool", inputs, windows)).to_int64(),
            (Sizes{2, 6, 20, 60}));
  inputs[0] = bytes_tensor({1, 1, 4, 2}, {1, 10, 3, 30, 5, 50, 7, 70});
  std::vector<Attribute> last = windows;
  last.push_back(number("channels_last", 1));
  const Tensor result = result_of(quantised("QLinearAveragePool", inputs, last));
  EXPECT_EQ(result.to_int64(), (Sizes{2, 20, 6, 60}));
  EXPECT_EQ(result.dims(), (Sizes{1, 1, 2, 2}));
  const Tensor whole =
      result_of(quantised("QLinearGlobalAveragePool", inputs, {number("channels_last", 1)}));
  EXPECT_EQ(whole.to_int64(), (Sizes{4, 40}));
  EXPECT_EQ(whole.dims(), (Sizes{1, 1, 1, 2}));
}

TEST(QLinearAveragePool, CountsPaddingAsRealZeros) {
  const Tensor line = bytes_tensor({1, 1, 2}, {14, 18});
  const std::vector<Tensor> inputs = {line, scale(1), zero_point(10), scale(1), zero_point(10)};
  const std::vector<Attribute> windows = {list("kernel_shape", {3}), list("pads", {1, 1})};
  EXPECT_EQ(result_of(quantised("QLinearAveragePool", inputs, windows)).to_int64(),
            (Sizes{16, 16}));  // (4 + 8) / 2
  std::vector<Attribute> counted = windows;
  counted.push_back(number("count_include_pad", 1));
  EXPECT_EQ(result_of(quantised("QLinearAveragePool", inputs, counted)).to_int64(),
            (Sizes{14, 14}));  // (4 + 8) / 3
}

TEST(QLinearTables, ActivateRealNumbers) {
  const Tensor line = bytes_tensor({3}, {0, 128, 200});
  const std::vector<Tensor> sigmoid = {line, scale(0.1f), zero_point(128), scale(1 / 256.0f),
                                       zero_point(0)};
  const auto expected = [](double x) {
    return static_cast<std::int64_t>(std::nearbyint(256 / (1 + std::exp(-x))));
  };
  EXPECT_EQ(result_of(quantised("QLinearSigmoid", sigmoid)).to_int64(),
            (Sizes{expected(-12.8), 128, 255}));
  const std::vector<Tensor> leaky = {line, scale(1), zero_point(128), scale(1), zero_point(50)};
  EXPECT_EQ(
      result_of(quantised("QLinearLeakyRelu", leaky, {real_number("alpha", 0.25f)})).to_int64(),
      (Sizes{50 - 32, 50, 50 + 72}));
}

TEST(QLinearSoftmax, FlattensBeforeOpset13) {
  const Tensor equal = bytes_tensor({1, 2, 2}, {9, 9, 9, 9});
  const std::vector<Tensor> inputs = {equal, scale(1), zero_point(9), scale(1 / 256.0f),
                                      zero_point(0)};
  EXPECT_EQ(result_of(quantised("QLinearSoftmax", inputs, {number("opset", 13), number("axis", 1)}))
                .to_int64(),
            (Sizes{128, 128, 128, 128}));
  EXPECT_EQ(result_of(quantised("QLinearSoftmax", inputs, {number("opset", 12), number("axis", 1)}))
                .to_int64(),
            (Sizes{64, 64, 64, 64}));
}

TEST(QLinearSoftmax, RoundsTheReciprocalOfTheScaleDown) {
  const Tensor equal = bytes_tensor({1, 2}, {9, 9});
  const std::vector<Tensor> inputs = {equal, scale(1), zero_point(9), scale(1 / 257.8f),
                                      zero_point(0)};
  EXPECT_EQ(result_of(quantised("QLinearSoftmax", inputs, {number("opset", 13)})).to_int64(),
            (Sizes{128, 128}));  // 257 / 2, to even, and not 128.9
}

TEST(QGemm, AddsCToTheSumsAndScales) {
  const Tensor a = bytes_tensor({1, 2}, {3, 5});
  const Tensor b = signed_bytes({2, 2}, {1, 2, -3, 4});
  const Tensor c = whole_numbers({2}, {10, -100});
  const Tensor scales = real_tensor({2}, {1, 0.5f});
  const std::vector<Tensor> operands = {
      a, scale(2), zero_point(1), b, scales, signed_bytes({2}, {0, 0}), c};
  const Numbers sums = {2 * 1 + 4 * -3 + 10, 2 * 2 + 4 * 4 - 100};
  EXPECT_EQ(result_of(quantised("QGemm", operands)).to_double(),
            (Numbers{sums[0] * 2, sums[1] * 2 * 0.5}));
  std::vector<Tensor> inputs = operands;
  inputs.push_back(scale(4));
  inputs.push_back(zero_point(100));
  // B transposed: its rows are the columns of the product.
  const Numbers flipped = {2 * 1 + 4 * 2 + 10, 2 * -3 + 4 * 4 - 100};
  const Tensor result = result_of(quantised("QGemm", inputs, {number("transB", 1)}));
  EXPECT_EQ(result.to_int64(),
            (Sizes{100 + static_cast<std::int64_t>(flipped[0] * 2 / 4),
                   100 + static_cast<std::int64_t>(std::nearbyint(flipped[1] * 2 * 0.5 / 4))}));
  inputs.pop_back();
  EXPECT_THROW(result_of(quantised("QGemm", inputs)), Error);
}

TEST(MatMulIntegerToFloat, ScalesRowsAndColumns) {
  const Tensor a = bytes_tensor({1, 2}, {11, 12});
  const Tensor b = signed_bytes({2, 2}, {1, 2, 3, 4});
  const Tensor scales = real_tensor({2}, {0.5f, 2});
  const Tensor bias = real_tensor({2}, {100, 200});
  const std::vector<Tensor> inputs = {a, b, scale(2), scales, zero_point(10), Tensor(), bias};
  EXPECT_EQ(result_of(quantised("MatMulIntegerToFloat", inputs)).to_double(),
            (Numbers{(1 * 1 + 2 * 3) * 2 * 0.5 + 100, (1 * 2 + 2 * 4) * 2 * 2 + 200}));
}

TEST(DynamicQuantizeMatMul, QuantisesItsInputAsItArrives) {
  const Tensor a = real_tensor({1, 2}, {255, 3.4f});  // scale 1, so 3.4 becomes 3
  const Tensor b = bytes_tensor({2, 1}, {12, 20});
  const std::vector<Tensor> inputs = {a, b, scale(0.5f), bytes_tensor({}, {10}),
                                      real_tensor({1}, {1})};
  EXPECT_EQ(result_of(quantised("DynamicQuantizeMatMul", inputs)).to_double(),
            (Numbers{(255 * 2 + 3 * 10) * 0.5 + 1}));
}

TEST(MatMulNBits, UnpacksTheLowestBitsFirst) {
  const Tensor a = real_tensor({1, 3}, {1, 10, 100});
  const std::vector<Attribute> shape = {number("N", 1), number("K", 3), number("block_size", 2)};
  const Tensor weights = bytes_tensor({1, 2, 1}, {0x9a, 0x0c});  // 10, 9 | 12
  const Tensor scales = real_tensor({2}, {1, 0.5f});
  EXPECT_EQ(result_of(quantised("MatMulNBits", {a, weights, scales}, shape)).to_double(),
            (Numbers{1 * 2 + 10 * 1 + 100 * 4 * 0.5}));  // the zero point is 8
  const Tensor zeros = bytes_tensor({1}, {0x47});        // 7 and 4
  EXPECT_EQ(result_of(quantised("MatMulNBits", {a, weights, scales, zeros}, shape)).to_double(),
            (Numbers{1 * 3 + 10 * 2 + 100 * 8 * 0.5}));
  const Tensor real_zeros = real_tensor({2}, {9.5f, 12});
  const Tensor bias = real_tensor({1}, {1000});
  EXPECT_EQ(
      result_of(quantised("MatMulNBits", {a, weights, scales, real_zeros, Tensor(), bias}, shape))
          .to_double(),
      (Numbers{1 * 0.5 - 10 * 0.5 + 1000}));
  const Tensor groups = whole_numbers({3}, {1, 0, 0});
  EXPECT_EQ(result_of(quantised("MatMulNBits", {a, weights, scales, Tensor(), groups}, shape))
                .to_double(),
            (Numbers{1 * 2 * 0.5 + 10 * 1 + 100 * 4}));
}

TEST(MatMulNBits, KnowsTwoAndEightBits) {
  const Tensor a = real_tensor({4}, {1, 10, 100, 1000});
  const Tensor scales = real_tensor({1}, {1});
  std::vector<Attribute> shape = {number("N", 1), number("K", 4), number("block_size", 4),
                                  number("bits", 2)};
  const Tensor two = bytes_tensor({1}, {0b11'10'01'00});  // 0, 1, 2, 3 less 2
  EXPECT_EQ(result_of(quantised("MatMulNBits", {a, two, scales}, shape)).to_double(),
            (Numbers{-2 - 10 + 1000}));
  shape[3] = number("bits", 8);
  const Tensor eight = bytes_tensor({4}, {128, 129, 130, 127});
  EXPECT_EQ(result_of(quantised("MatMulNBits", {a, eight, scales}, shape)).to_double(),
            (Numbers{10 + 200 - 1000}));
  shape[3] = number("bits", 3);
  EXPECT_THROW(result_of(quantised("MatMulNBits", {a, eight, scales}, shape)), Error);
  shape[3] = number("bits", 4);
  EXPECT_THROW(result_of(quantised("MatMulNBits", {a, eight, scales}, shape)), Error);
}

TEST(DynamicQuantizeLstm, HasTransposedWeightsAndScalesOfItsOwn) {
  // One unit, one feature, one step from a state of zeros: only the products with the input count.
  const Tensor x = real_tensor({1, 1, 1}, {2});
  const Tensor w = signed_bytes({1, 1, 4}, {10, 20, 30, 40});
  const Tensor r = signed_bytes({1, 1, 4}, {1, 2, 3, 4});
  const Tensor w_scale = real_tensor({1, 4}, {0.1f, 0.05f, 0.1f, 0.01f});
  const Tensor one_scale = real_tensor({1}, {1});
  const Tensor w_zero = signed_bytes({1, 4}, {0, 0, 0, 10});
  const Tensor none;
  const auto outputs = outputs_of(quantised(
      "DynamicQuantizeLSTM",
      {x, w, r, none, none, none, none, none, w_scale, w_zero, one_scale, signed_bytes({1}, {0})},
      {number("hidden_size", 1)}, 3));
  const auto sigmoid = [](double number) { return 1 / (1 + std::exp(-number)); };
  const double cell = sigmoid(2 * 10 * 0.1) * std::tanh(2 * (40 - 10) * 0.01);
  const double hidden = sigmoid(2 * 20 * 0.05) * std::tanh(cell);
  expect_near(outputs[0], {hidden});
  expect_near(outputs[2], {cell});
}

TEST(QAttention, ProjectsThenAttends) {
  // One head of width 1. Queries are 0, so every key weighs the same; values are the inputs.
  const Tensor input = bytes_tensor({1, 2, 1}, {12, 16});
  const Tensor weight = signed_bytes({1, 3}, {0, 1, 4});
  const Tensor bias = real_tensor({3}, {0, 0, 1});
  const Tensor none;
  const std::vector<Tensor> inputs = {input,        weight, bias,          scale(0.5f),
                                      scale(0.25f), none,   zero_point(10)};
  // Values: (2, 6) · 0.5 · 4 · 0.25 + 1 = 2 and 4.
  expect_near(result_of(quantised("QAttention", inputs, {number("num_heads", 1)})), {3, 3});
  expect_near(result_of(quantised("QAttention", inputs,
                                  {number("num_heads", 1), number("unidirectional", 1)})),
              {2, 3});
  std::vector<Tensor> masked = inputs;
  masked[5] = whole_numbers({1, 2}, {0, 1});
  expect_near(result_of(quantised("QAttention", masked, {number("num_heads", 1)})), {4, 4});
  std::vector<Tensor> longer = inputs;
  longer.push_back(none);
  longer.push_back(real_tensor({2, 1, 1, 1, 1}, {7, 9}));
  const auto outputs = outputs_of(quantised("QAttention", longer, {number("num_heads", 1)}, 2));
  expect_near(outputs[0], {5, 5});  // (9 + 2 + 4) / 3
  expect_near(outputs[1], {7, 0.25, 0.75, 9, 2, 4});
}

}  // namespace
}  // namespace assay
