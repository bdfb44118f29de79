#include "optimize/quantize/histogram.h"

#include <gtest/gtest.h>

#include "optimize/quantize/ranges.h"

namespace assay::optimize {
namespace {

TEST(Histogram, KeepsEveryNumberWhenItGrows) {
  Histogram histogram;
  const std::vector<float> first = {0, 0.5f, 1};
  const std::vector<float> second = {-3, 7};
  histogram.add(first, 0, 1);
  histogram.add(second, -3, 7);
  EXPECT_EQ(histogram.total(), 5u);
  EXPECT_LE(histogram.lower_edge(0), -3);
  EXPECT_GT(histogram.lower_edge(Histogram::kBins), 7);
  EXPECT_EQ(histogram.counts().size(), Histogram::kBins);
}

TEST(Histogram, QuantilesLieWithinABinOfTheTruth) {
  Histogram histogram;
  std::vector<float> numbers;
  for (int i = 0; i <= 1000; ++i) numbers.push_back(static_cast<float>(i) / 10);
  histogram.add(numbers, 0, 100);
  EXPECT_NEAR(histogram.quantile(0.5), 50, 0.2);
  EXPECT_NEAR(histogram.quantile(0.99), 99, 0.2);
}

TEST(Ranges, TheLeastSquaredErrorCutsALoneOutlierOff) {
  // 100,000 numbers between -1 and 1, one of 10. Cutting it off costs 81; a range of 11 instead of
  // 2 costs 100,000 · ((11/255)² - (2/255)²) / 12 = 15: it stays. With 10 million it is cut off.
  const auto chosen = [](int repeats) {
    std::vector<float> numbers;
    for (int i = 0; i < 10'000; ++i) numbers.push_back(static_cast<float>(i % 2001 - 1000) / 1000);
    ObservedValue observed{.range = {-1, 10}};
    const std::vector<float> far = {10};
    observed.histogram.add(far, -1, 10);
    for (int i = 0; i < repeats; ++i) observed.histogram.add(numbers, -1, 1);
    return chosen_range(observed, CalibrationMethod::Mse, 0).greatest;
  };
  EXPECT_GT(chosen(10), 7);
  EXPECT_LT(chosen(1000), 3);
}

}  // namespace
}  // namespace assay::optimize
