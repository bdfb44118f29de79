#include "optimize/quantize/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

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

// 2,048 bins from 0 to 4, `counts(bin)` numbers in the middle of each.
template <typename Counts>
ObservedValue observed_counts(const Counts& counts) {
  ObservedValue observed{.range = {0, 4}};
  std::vector<float> numbers = {0, 4};
  for (int bin = 0; bin < 2048; ++bin)
    numbers.insert(numbers.end(), static_cast<std::size_t>(counts(bin)),
                   (static_cast<float>(bin) + 0.5f) * 4 / 2048);
  observed.histogram.add(numbers, 0, 4);
  return observed;
}

double entropy_end(const ObservedValue& observed) {
  return chosen_range(observed, CalibrationMethod::Entropy, 0).greatest;
}

TEST(Ranges, EntropyEndsWhereLevelsStillTellTheNumbersApart) {
  // From 0 to 1, two bins of 30 numbers follow two of 10; one number is 4. The range 0 to 1 has a
  // level for each two bins: nothing is lost but the one number. A wider range joins bins of 30 and
  // of 10, a narrower one cuts off hundreds of numbers.
  const auto observed = observed_counts([](int bin) {
    return bin >= 512 ? 0 : bin / 2 % 2 == 0 ? 30 : 10;
  });
  EXPECT_NEAR(entropy_end(observed), 1, 0.05);
}

TEST(Ranges, EntropyKeepsLargeChannelsThatFewNumbersBelongTo) {
  // As above, with 32 of 10,272 numbers between 1 and 4: a divergence alone would cut them off.
  // All but 0.05 % are kept, which is 5 of the 32.
  const auto observed = observed_counts([](int bin) {
    if (bin >= 512) return bin % 48 == 0 ? 1 : 0;
    return bin / 2 % 2 == 0 ? 30 : 10;
  });
  EXPECT_GT(entropy_end(observed), 3.4);
}

// The procedure as published (S. Migacz, 8-bit inference with TensorRT, 2017): bins up to `end` are
// joined to 256 levels, and a level's numbers spread over those of its bins that are not empty;
// numbers beyond are counted in the last bin of the reference, not in its model.
double published_divergence(std::span<const std::uint64_t> counts, std::size_t end) {
  std::vector<double> real(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(end));
  const std::vector<double> inside = real;
  for (std::size_t i = end; i < counts.size(); ++i) real.back() += static_cast<double>(counts[i]);
  std::vector<double> model(end, 0);
  for (std::size_t level = 0; level < 256; ++level) {
    double sum = 0, filled = 0;
    for (std::size_t i = 0; i < end; ++i) {
      if (i * 256 / end != level) continue;
      sum += inside[i];
      filled += real[i] > 0 ? 1 : 0;
    }
    for (std::size_t i = 0; i < end; ++i) {
      if (i * 256 / end == level && real[i] > 0) model[i] = sum / filled;
    }
  }
  double all = 0, kept = 0, divergence = 0;
  for (std::size_t i = 0; i < end; ++i) all += real[i], kept += model[i];
  for (std::size_t i = 0; i < end; ++i) {
    if (real[i] > 0)
      divergence += real[i] / all * std::log(real[i] / all / std::max(model[i] / kept, 1e-12));
  }
  return divergence;
}

TEST(Ranges, EntropyFindsTheLeastDivergenceOfThePublishedProcedure) {
  // A bell, rough by chance, and one with numbers far out.
  for (const int far : {0, 40}) {
    std::uint32_t state = 1;
    const auto observed = observed_counts([&](int bin) {
      state = state * 1664525u + 1013904223u;
      const double x = bin * 4.0 / 2048;
      const double expected = 2000 * std::exp(-x * x * 4);
      const double noise = (static_cast<double>(state >> 8) / (1 << 24) - 0.5) * 2;
      return static_cast<int>(expected + noise * std::sqrt(expected)) +
             (bin > 1500 && bin % 256 == 0 ? far : 0);
    });
    const auto counts = observed.histogram.counts();
    const auto bins_to = [](double end) {
      return std::min<std::size_t>(2048, static_cast<std::size_t>(end / 4 * 2048) + 1);
    };
    double least = 1;
    for (int percent = 20; percent <= 100; ++percent)
      least = std::min(least, published_divergence(counts, bins_to(4.0 * percent / 100)));
    const std::size_t chosen = bins_to(entropy_end(observed));
    EXPECT_LE(published_divergence(counts, chosen), least * 1.1 + 1e-6) << far;
  }
}

}  // namespace
}  // namespace assay::optimize
