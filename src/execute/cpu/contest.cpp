#include "execute/cpu/contest.h"

#include <omp.h>

#include <algorithm>

#include "assay/timing.h"

namespace assay::cpu {

namespace {

constexpr int kRounds = 9;
constexpr int kFewestRounds = 3;
constexpr std::int64_t kShortestRound = 1'000'000;   // nanoseconds
constexpr std::int64_t kEnoughRounds = 400'000'000;  // nanoseconds of all of them

}  // namespace

Contestant::Contestant(Executable& executable, std::span<const Tensor> inputs, int threads)
    : executable_(executable), threads_(threads) {
  executable_.set_inputs(inputs);
  time_of(1);
  runs_ = std::clamp<std::int64_t>(kShortestRound / std::max<std::int64_t>(time_of(1), 1), 1, 500);
}

void Contestant::measure() {
  best_ = std::min(best_, time_of(runs_));
}

void Contestant::run() const {
  for (const Runner& runner : executable_.runners()) runner();
}

std::int64_t Contestant::time_of(std::int64_t runs) const {
  if (omp_get_max_threads() != threads_) omp_set_num_threads(threads_);
  Clock& clock = steady_clock();
  const std::int64_t begin = clock.nanoseconds();
  for (std::int64_t i = 0; i < runs; ++i) run();
  return (clock.nanoseconds() - begin) / runs;
}

double relative_time(Contestant first, Contestant second) {
  const std::int64_t begin = steady_clock().nanoseconds();
  for (int round = 0; round < kRounds; ++round) {
    first.measure();
    second.measure();
    const bool is_long = steady_clock().nanoseconds() - begin > kEnoughRounds;
    if (is_long && round + 1 >= kFewestRounds) break;
  }
  return static_cast<double>(first.best()) / static_cast<double>(second.best());
}

}  // namespace assay::cpu
