// Functions of one element.
#include <cmath>
#include <limits>

#include "kernels/kernel_runner.h"

namespace assay {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor line(const std::vector<float>& values) {
  return real_tensor({static_cast<std::int64_t>(values.size())}, values);
}

void expect_function(const char* op, float x, double y, std::vector<Attribute> attributes = {}) {
  SCOPED_TRACE(op);
  expect_near(result_of({op, {line({x})}, std::move(attributes), 20}), {y});
}

TEST(Activations, FollowTheirFormulas) {
  expect_function("Sigmoid", 2, 1 / (1 + std::exp(-2.0)));
  expect_function("LeakyRelu", -2, -0.02);
  expect_function("Elu", -1, 2 * (std::exp(-1.0) - 1), {real_number("alpha", 2)});
  expect_function("Selu", -1, 1.0507009873 * 1.6732632423 * (std::exp(-1.0) - 1));
  expect_function("Celu", -1, 2 * (std::exp(-0.5) - 1), {real_number("alpha", 2)});
  expect_function("Gelu", 1, 0.5 * (1 + std::erf(1 / std::sqrt(2.0))));
  expect_function("Gelu", 1, 0.5 * (1 + std::tanh(std::sqrt(2 / M_PI) * 1.044715)),
                  {text("approximate", "tanh")});
  expect_function("HardSigmoid", 1, 0.2 + 0.5);
  expect_function("HardSwish", 1, 1 * (1.0 / 6 + 0.5));
  expect_function("Mish", 1, std::tanh(std::log(1 + std::exp(1.0))));
  expect_function("Softplus", 1, std::log(1 + std::exp(1.0)));
  expect_function("Softsign", -3, -3 / 4.0);
  expect_function("ThresholdedRelu", 0.5f, 0);
  expect_function("Swish", 1, 1 / (1 + std::exp(-2.0)), {real_number("alpha", 2)});
  expect_function("Shrink", 2, 1.5, {real_number("bias", 0.5f)});
  expect_function("Shrink", 0.5f, 0);
}

TEST(Activations, LargeNumbersDoNotOverflow) {
  expect_function("Softplus", 1000, 1000);
  expect_function("Sigmoid", -1000, 0);
}

TEST(Activations, NotANumberFlowsThrough) {
  for (const char* op : {"Relu", "LeakyRelu", "Elu", "Sigmoid", "Tanh", "HardSigmoid", "Softplus",
                         "ThresholdedRelu", "Clip", "Shrink", "Gelu", "HardSwish"}) {
    EXPECT_TRUE(std::isnan(result_of({op, {line({kNan})}, {}, 20}).to_double().front())) << op;
  }
}

TEST(Activations, SlopesAreBroadcastToTheInput) {
  const Tensor input = real_tensor({2, 2}, {-1, 2, -3, -4});
  const Tensor slope = real_tensor({2, 1}, {10, 100});
  EXPECT_EQ(result_of({"PRelu", {input, slope}}).to_double(), (Numbers{-10, 2, -300, -400}));
  EXPECT_THROW(result_of({"PRelu", {line({1}), slope}}), Error);
}

TEST(Activations, RefuseWhatIsNotReal) {
  EXPECT_THROW(result_of({"Sigmoid", {long_tensor({1}, {1})}}), Error);
  EXPECT_THROW(result_of({"Celu", {line({1})}, {real_number("alpha", 0)}}), Error);
  EXPECT_THROW(result_of({"Gelu", {line({1})}, {text("approximate", "roughly")}}), Error);
}

TEST(RealFunctions, AreRoundedOnce) {
  expect_function("Exp", 1, std::exp(1.0));
  expect_function("Log", 2, std::log(2.0));
  expect_function("Reciprocal", 4, 0.25);
  expect_function("Erf", 0.5f, std::erf(0.5));
  expect_function("Sinh", 1, std::sinh(1.0));
  expect_function("Atanh", 0.5f, std::atanh(0.5));
  expect_function("Acos", 0.5f, std::acos(0.5));
  EXPECT_EQ(result_of({"Exp", {line({100})}}).to_double().front(), kInfinity);
}

TEST(RealFunctions, AskForInfinitiesAndNotANumber) {
  const Tensor odd = line({kNan, kInfinity, -kInfinity, 1});
  EXPECT_EQ(result_of({"IsNaN", {odd}}).to_int64(), (Sizes{1, 0, 0, 0}));
  EXPECT_EQ(result_of({"IsInf", {odd}}).to_int64(), (Sizes{0, 1, 1, 0}));
  EXPECT_EQ(result_of({"IsInf", {odd}, {number("detect_negative", 0)}}).to_int64(),
            (Sizes{0, 1, 0, 0}));
}

TEST(Arithmetic, BeforeOpset7TheSecondOperandStartsAtAnAxis) {
  const Tensor input = real_tensor({1, 2, 2}, {1, 2, 3, 4});
  const Tensor channels = line({10, 20});
  const Case test = {"Add", {input, channels}, {number("broadcast", 1), number("axis", 1)}, 6};
  EXPECT_EQ(result_of(test).to_double(), (Numbers{11, 12, 23, 24}));
}

}  // namespace
}  // namespace assay
