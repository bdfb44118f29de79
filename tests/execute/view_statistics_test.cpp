#include "execute/view_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <mutex>

namespace assay::execute {
namespace {

// 2 images of 5 channels and 3000 pixels in blocks of 4: three of every last block mean nothing.
struct Blocked {
  std::vector<float> numbers;

  Blocked() : numbers(2 * 2 * 3000 * 4, 1e9f) {
    for (std::size_t n = 0; n < 2; ++n) {
      for (std::size_t c = 0; c < 5; ++c) {
        for (std::size_t pixel = 0; pixel < 3000; ++pixel) at(n, c, pixel) = value(n, c, pixel);
      }
    }
  }
  float& at(std::size_t n, std::size_t c, std::size_t pixel) {
    return numbers[((n * 2 + c / 4) * 3000 + pixel) * 4 + c % 4];
  }
  static float value(std::size_t n, std::size_t c, std::size_t pixel) {
    return static_cast<float>(c) + (pixel == 17 ? (n == 0 ? -8.0f : 8.0f) : 0.0f);
  }
  OutputView view() const {
    return {.dims = {2, 5, 60, 50}, .bytes = std::as_bytes(std::span(numbers)), .channel_block = 4};
  }
};

TEST(ViewStatistics, LeaveThePaddingOfBlocksOut) {
  for (const int threads : {1, 2, 3}) {
    const ViewStatistics found = statistics_of(Blocked().view(), 1, threads);
    EXPECT_TRUE(found.is_finite);
    EXPECT_EQ(found.least, -8);
    EXPECT_EQ(found.greatest, 4 + 8);
    ASSERT_EQ(found.sums.size(), 5u);
    for (std::size_t c = 0; c < 5; ++c)
      EXPECT_DOUBLE_EQ(found.sums[c], 2 * 3000 * static_cast<double>(c));  // -8 and 8 cancel
  }
}

TEST(ViewStatistics, StretchesHoldEveryElementOnce) {
  const Blocked blocked;
  for (const int threads : {1, 3}) {
    std::mutex mutex;
    std::size_t count = 0;
    double sum = 0;
    for_each_stretch_of(blocked.view(), threads, [&](std::size_t, std::span<const float> part) {
      const std::lock_guard lock(mutex);
      count += part.size();
      for (const float number : part) sum += static_cast<double>(number);
    });
    EXPECT_EQ(count, 2u * 5 * 3000);
    EXPECT_DOUBLE_EQ(sum, 2 * 3000 * (0 + 1 + 2 + 3 + 4));
  }
}

TEST(ViewStatistics, SumChannelsAlongAnyAxisOfRows) {
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  const OutputView view{.dims = {2, 3}, .bytes = std::as_bytes(std::span(numbers))};
  EXPECT_EQ(statistics_of(view, 0, 2).sums, (std::vector<double>{6, 15}));
  EXPECT_EQ(statistics_of(view, 1, 2).sums, (std::vector<double>{5, 7, 9}));
  const OutputView deeper{.dims = {1, 3, 2}, .bytes = std::as_bytes(std::span(numbers))};
  EXPECT_EQ(statistics_of(deeper, 1, 2).sums, (std::vector<double>{3, 7, 11}));
}

TEST(ViewStatistics, TellWhatIsNotFinite) {
  Blocked blocked;
  blocked.at(1, 2, 2999) = std::numeric_limits<float>::quiet_NaN();
  EXPECT_FALSE(statistics_of(blocked.view(), {}, 2).is_finite);
  blocked.at(1, 2, 2999) = -std::numeric_limits<float>::infinity();
  EXPECT_FALSE(statistics_of(blocked.view(), 1, 2).is_finite);
  // Large numbers whose sum overflows are finite, and padding may be anything.
  std::vector<float> large(4096, 3e38f);
  const OutputView view{.dims = {4096}, .bytes = std::as_bytes(std::span(large))};
  EXPECT_TRUE(statistics_of(view, {}, 2).is_finite);
  Blocked padded;
  padded.numbers[3000 * 4 + 3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(statistics_of(padded.view(), {}, 2).is_finite);
}

}  // namespace
}  // namespace assay::execute
