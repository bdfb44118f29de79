// DFT, STFT, window functions, mel weights, determinants, Col2Im.
#include <cmath>

#include "kernels/kernel_runner.h"

namespace assay {
namespace {

TEST(SignalKernels, TransformOfAnImpulseIsFlat) {
  const Tensor impulse = real_tensor({1, 4, 1}, {1, 0, 0, 0});
  expect_near(result_of({"DFT", {impulse}}), {1, 0, 1, 0, 1, 0, 1, 0});
  const Tensor half = result_of({"DFT", {impulse}, {number("onesided", 1)}});
  EXPECT_EQ(half.dims(), (Sizes{1, 3, 2}));
}

TEST(SignalKernels, InverseTransformGivesTheSignalBack) {
  const Tensor signal = real_tensor({1, 3, 2}, {1, 2, -3, 4, 5, -6});
  const Tensor spectrum = result_of({"DFT", {signal}});
  expect_near(result_of({"DFT", {spectrum}, {number("inverse", 1)}}), {1, 2, -3, 4, 5, -6});
}

TEST(SignalKernels, TransformCutsOrFillsToItsLength) {
  const Tensor ones = real_tensor({1, 2, 1}, {1, 1});
  // 1, 1, 0, 0 and only the first: sums 2 and 1 at frequency 0.
  const Tensor longer = result_of({"DFT", {ones, long_tensor({}, {4})}});
  EXPECT_EQ(longer.dims(), (Sizes{1, 4, 2}));
  EXPECT_NEAR(longer.to_double()[0], 2, 1e-6);
  expect_near(result_of({"DFT", {ones, long_tensor({}, {1})}}), {1, 0});
  EXPECT_THROW(result_of({"DFT", {ones, long_tensor({}, {0})}}), Error);
  EXPECT_THROW(result_of({"DFT", {ones}, {number("axis", 2)}}), Error);
}

TEST(SignalKernels, ShortTimeTransformWindowsEveryFrame) {
  const Tensor signal = real_tensor({1, 4, 1}, {1, 2, 3, 4});
  const Tensor window = real_tensor({2}, {1, 10});
  const Tensor result =
      result_of({"STFT", {signal, long_tensor({}, {2}), window, long_tensor({}, {2})}});
  // Frames (1, 20) and (3, 40): their sum and their difference.
  EXPECT_EQ(result.dims(), (Sizes{1, 2, 2, 2}));
  expect_near(result, {21, 0, -19, 0, 43, 0, -37, 0}, 1e-5);
  EXPECT_THROW(result_of({"STFT", {signal, long_tensor({}, {0}), window}}), Error);
}

TEST(SignalKernels, WindowsAreSumsOfCosines) {
  const Tensor four = long_tensor({}, {4});
  expect_near(result_of({"HannWindow", {four}}), {0, 0.5, 1, 0.5});
  expect_near(result_of({"HannWindow", {long_tensor({}, {3})}, {number("periodic", 0)}}),
              {0, 1, 0});
  expect_near(result_of({"HammingWindow", {four}}), {4.0 / 46, 25.0 / 46, 1, 25.0 / 46});
  expect_near(result_of({"BlackmanWindow", {four}}), {0, 0.34, 1, 0.34});
  expect_near(result_of({"HannWindow", {long_tensor({}, {1})}, {number("periodic", 0)}}), {0});
  EXPECT_THROW(result_of({"HannWindow", {long_tensor({}, {-1})}}), Error);
}

TEST(SignalKernels, MelBandsAreTriangles) {
  const Tensor weights =
      result_of({"MelWeightMatrix",
                 {long_tensor({}, {2}), long_tensor({}, {16}), long_tensor({}, {8000}),
                  real_tensor({}, {0}), real_tensor({}, {4000})}});
  EXPECT_EQ(weights.dims(), (Sizes{9, 2}));
  const auto values = weights.to_double();
  for (std::size_t band = 0; band < 2; ++band) {
    double peak = 0;
    for (std::size_t bin = 0; bin < 9; ++bin) peak = std::max(peak, values[bin * 2 + band]);
    EXPECT_EQ(peak, 1);
  }
  EXPECT_THROW(result_of({"MelWeightMatrix",
                          {long_tensor({}, {2}), long_tensor({}, {16}), long_tensor({}, {0}),
                           real_tensor({}, {0}), real_tensor({}, {4000})}}),
               Error);
}

TEST(DeterminantKernels, PivotsKeepTheSign) {
  expect_near(result_of({"Det", {real_tensor({2, 2}, {0, 1, 1, 0})}}), {-1});
  expect_near(result_of({"Det", {real_tensor({2, 2, 2}, {1, 2, 3, 4, 1, 2, 2, 4})}}), {-2, 0});
  EXPECT_EQ(result_of({"Det", {real_tensor({2, 2}, {0, 1, 1, 0})}}).dims(), Sizes{});
  EXPECT_THROW(result_of({"Det", {real_tensor({1, 2}, {0, 1})}}), Error);
}

TEST(Col2Im, AddsBlocksWhereTheyOverlap) {
  // Two blocks of 1×2 over a row of three: the middle gets one element of each.
  const Tensor columns = real_tensor({1, 2, 2}, {1, 2, 10, 20});
  const Tensor image = long_tensor({2}, {1, 3});
  const Tensor block = long_tensor({2}, {1, 2});
  EXPECT_EQ(result_of({"Col2Im", {columns, image, block}, {}, 18}),
            real_tensor({1, 1, 1, 3}, {1, 12, 20}));
  EXPECT_THROW(result_of({"Col2Im", {columns, image, long_tensor({2}, {1, 4})}, {}, 18}), Error);
  EXPECT_THROW(result_of({"Col2Im", {columns, image, long_tensor({2}, {1, 0})}, {}, 18}), Error);
}

}  // namespace
}  // namespace assay
