// Tries of one kernel: the best time counts, because other load can only lengthen it. The spread is
// the distance of the median try from the best.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace assay::machine {

// A try is long enough for the clock and short enough to fall between two disturbances.
inline constexpr double kTryNanoseconds = 1e6;

struct TryLimits {
  int least = 1;
  int most = 1;
  double seconds = 0.05;  // for all tries together, after the first `least`
};

struct TryTimes {
  std::int64_t best = 0;  // nanoseconds
  double spread = 0;      // the median try / the best - 1
};

// `one` runs a try and returns its nanoseconds. Ends early once several tries are close to the
// best.
template <typename Try>
TryTimes best_of(const TryLimits& limits, Try one) {
  constexpr double kNear = 1.01;
  constexpr int kEnoughNear = 4;
  std::vector<std::int64_t> times;
  double spent = 0;
  const auto is_no_accident = [&] {
    const auto near = static_cast<double>(std::ranges::min(times)) * kNear;
    return std::ranges::count_if(
               times, [&](auto time) { return static_cast<double>(time) <= near; }) >= kEnoughNear;
  };
  for (int i = 0; i < limits.most; ++i) {
    if (i >= limits.least && (spent > limits.seconds * 1e9 || is_no_accident())) break;
    times.push_back(std::max<std::int64_t>(1, one()));
    spent += static_cast<double>(times.back());
  }
  std::ranges::sort(times);
  const auto best = static_cast<double>(times.front());
  return {times.front(), static_cast<double>(times[times.size() / 2]) / best - 1};
}

}  // namespace assay::machine
