// The kernels do the arithmetic and move the bytes that they declare.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "assay/error.h"
#include "machine/peaks/peak_kernel.h"
#include "machine/pinned_team.h"
#include "machine/traffic/traffic_kernel.h"
#include "machine/traffic/traffic_meter.h"

namespace assay {

using namespace assay::machine;

namespace {

TEST(PeakKernels, ComputeTheirSumExactly) {
  const auto kernels = supported_peak_kernels();
  ASSERT_FALSE(kernels.empty());
  for (const PeakKernel* kernel : kernels) {
    for (const std::int64_t rounds : {0, 1, 2, 1001, 100'000}) {
      EXPECT_EQ(kernel->run(rounds), kernel->sum_after(rounds))
          << kernel->precision << " " << kernel->instruction_set << ", rounds " << rounds;
    }
  }
}

TEST(PeakKernels, AreExactUpToTheMostRounds) {
  const PeakKernel& kernel = peak_fp32_baseline();
  EXPECT_EQ(kernel.run(kMostRounds), kernel.sum_after(kMostRounds));
}

TEST(PeakKernels, ThereIsOneForFloatsEverywhere) {
  const auto kernels = supported_peak_kernels();
  EXPECT_TRUE(std::ranges::any_of(
      kernels, [](const PeakKernel* kernel) { return kernel->precision == "fp32"; }));
}

std::vector<const TrafficTable*> supported_tables() {
  std::vector<const TrafficTable*> tables = {&traffic_baseline()};
#if defined(__x86_64__)
  for (const TrafficTable* table : {&traffic_avx2(), &traffic_avx512()}) {
    if (table->is_supported()) tables.push_back(table);
  }
#endif
  return tables;
}

// Numbers before and behind the arrays must stay as they are.
struct Guarded {
  static constexpr std::size_t kGuard = 64;
  static constexpr double kUntouched = -7;

  Guarded(std::size_t count, double value) : numbers(count + 2 * kGuard + 8, kUntouched) {
    const auto address = reinterpret_cast<std::uintptr_t>(numbers.data() + kGuard);
    begin = numbers.data() + kGuard + (64 - address % 64) % 64 / sizeof(double);
    std::fill_n(begin, count, value);
  }
  bool is_untouched_outside(std::size_t count) const {
    const auto is_untouched = [](double number) { return number == kUntouched; };
    const double* end = numbers.data() + numbers.size();
    return std::all_of(numbers.data(), static_cast<const double*>(begin), is_untouched) &&
           std::all_of(static_cast<const double*>(begin) + count, end, is_untouched);
  }

  std::vector<double> numbers;
  double* begin = nullptr;
};

TEST(TrafficKernels, TouchEveryElementAndNothingElse) {
  constexpr std::size_t kCount = 5 * kTrafficStep;
  for (const TrafficTable* table : supported_tables()) {
    for (const TrafficKernel& kernel : table->kernels) {
      SCOPED_TRACE(std::string(table->instruction_set) + " " + std::string(kernel.access));
      Guarded a(kCount, kFilledA), b(kCount, kFilledB), c(kCount, kFilledC);
      const double sum = kernel.run({a.begin, b.begin, c.begin, kCount}, 3);
      if (kernel.reads_only) {
        EXPECT_EQ(sum, 3 * kCount * kernel.expected);
      } else {
        EXPECT_TRUE(std::all_of(a.begin, a.begin + kCount,
                                [&](double number) { return number == kernel.expected; }));
      }
      EXPECT_TRUE(a.is_untouched_outside(kCount));
      EXPECT_TRUE(b.is_untouched_outside(kCount));
      EXPECT_TRUE(c.is_untouched_outside(kCount));
      EXPECT_EQ(kernel.bytes_a_number, static_cast<std::int64_t>(8 * kernel.arrays));
    }
  }
}

// Answers that it is cancelled from the given question on.
class CancelledLater : public Progress {
 public:
  explicit CancelledLater(int questions) : left_(questions) {}
  bool cancelled() const override { return left_-- <= 0; }

 private:
  mutable int left_ = 0;
};

TEST(PinnedTeam, StopsBetweenTwoTriesWhenCancelled) {
  CancelledLater progress(2);
  PinnedTeam team({0}, &progress);
  int tries = 0;
  EXPECT_THROW(best_of({40, 40}, [&] { return team.time([&](std::size_t) { ++tries; }); }), Error);
  EXPECT_EQ(tries, 2);
}

TEST(TrafficMeter, StopsBetweenTwoPiecesWhenCancelled) {
  CancelledLater progress(1);
  PinnedTeam team({0}, &progress);
  TrafficMeter meter(team, std::size_t{64} << 20);
  EXPECT_THROW((void)meter.bytes_within(1, 1e6), Error);
}

TEST(PinnedTeam, EveryMemberWorksOncePerCall) {
  PinnedTeam team({0, 0, 0});
  std::vector<int> calls(team.size());
  for (int i = 0; i < 5; ++i) {
    EXPECT_GT(team.time([&](std::size_t thread) { ++calls[thread]; }), 0);
  }
  EXPECT_EQ(calls, (std::vector<int>{5, 5, 5}));
}

}  // namespace
}  // namespace assay
