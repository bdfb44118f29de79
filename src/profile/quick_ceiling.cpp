#include "profile/quick_ceiling.h"

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <thread>
#include <vector>

#include "assay/builder.h"
#include "assay/timing.h"

namespace assay {

namespace {

// --- bandwidth

constexpr std::int64_t kSmallestProbe = std::int64_t{256} << 10;
constexpr std::int64_t kLargestProbe = std::int64_t{64} << 20;
constexpr std::int64_t kBytesInAPass = std::int64_t{16} << 20;  // long enough for the clock
constexpr int kPasses = 5;

// Independent sums, so that loads and not additions set the pace.
std::uint64_t sum_of(const std::vector<std::uint64_t>& words) {
  constexpr std::size_t kSums = 8;
  std::uint64_t sums[kSums] = {};
  for (std::size_t i = 0; i + kSums <= words.size(); i += kSums) {
    for (std::size_t lane = 0; lane < kSums; ++lane) sums[lane] += words[i + lane];
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t one : sums) sum += one;
  return sum;
}

struct BandwidthProbe {
  std::size_t words = 0;  // of each thread
  std::size_t rounds = 1;
  std::barrier<> line;
  std::int64_t best_nanoseconds = 0;
  std::vector<std::uint64_t> sums;  // kept, so that nobody optimises the reading away
};

void read_in_passes(BandwidthProbe& probe, std::size_t thread) {
  const std::vector<std::uint64_t> words(probe.words, thread + 1);
  for (int pass = 0; pass < kPasses; ++pass) {
    probe.line.arrive_and_wait();
    const std::int64_t start = steady_clock().nanoseconds();
    for (std::size_t round = 0; round < probe.rounds; ++round) probe.sums[thread] += sum_of(words);
    probe.line.arrive_and_wait();
    const std::int64_t taken = steady_clock().nanoseconds() - start;
    const bool is_best = pass == 0 || taken < probe.best_nanoseconds;
    if (thread == 0 && is_best) probe.best_nanoseconds = taken;
  }
}

// --- peak

constexpr std::int64_t kSide = 768;
constexpr double kPeakSeconds = 0.06;
constexpr int kMostRuns = 50;

Inferred matrix_product() {
  GraphBuilder builder("ceiling");
  const ValueId left = builder.input("left", DataType::Float32, Shape{kSide, kSide});
  const ValueId right = builder.weight("right", {kSide, kSide}, 1.0);
  builder.output(builder.node("MatMul", "product", {left, right}), "output");
  return infer_shapes(builder.finish());
}

bool is_fast(const Program& program) {
  return std::ranges::all_of(program.steps(), [](const StepInfo& step) {
    return step.fell_back.empty() && step.algorithm != "reference";
  });
}

std::int64_t best_run(Program& program) {
  Clock& clock = steady_clock();
  program.run();
  std::int64_t best = 0;
  std::int64_t spent = 0;
  for (int i = 0; i < kMostRuns && static_cast<double>(spent) < kPeakSeconds * 1e9; ++i) {
    const std::int64_t start = clock.nanoseconds();
    program.run();
    const std::int64_t taken = clock.nanoseconds() - start;
    spent += taken;
    if (i == 0 || taken < best) best = taken;
  }
  return best;
}

}  // namespace

double estimate_bandwidth_gbps(int threads, std::int64_t bytes) {
  const auto team = static_cast<std::size_t>(std::max(1, threads));
  const std::int64_t total = std::clamp(bytes, kSmallestProbe, kLargestProbe);
  BandwidthProbe probe{
      .words = std::max<std::size_t>(64, static_cast<std::size_t>(total) / 8 / team),
      .rounds = static_cast<std::size_t>(std::max<std::int64_t>(1, kBytesInAPass / total)),
      .line = std::barrier<>(static_cast<std::ptrdiff_t>(team)),
      .sums = std::vector<std::uint64_t>(team)};
  std::vector<std::jthread> helpers;
  for (std::size_t i = 1; i < team; ++i)
    helpers.emplace_back([&probe, i] { read_in_passes(probe, i); });
  read_in_passes(probe, 0);
  helpers.clear();
  const double read = 8.0 * static_cast<double>(probe.words * team * probe.rounds);
  return read / static_cast<double>(std::max<std::int64_t>(1, probe.best_nanoseconds));
}

std::optional<double> estimate_peak_gflops(const ProgramOptions& options) {
  ProgramOptions fast = options;
  fast.engine = Engine::OneDnn;
  const auto program = compile(matrix_product(), fast);
  if (!is_fast(*program)) return std::nullopt;
  program->set_inputs(random_inputs(program->inputs()));
  const auto nanoseconds = static_cast<double>(std::max<std::int64_t>(1, best_run(*program)));
  constexpr double kFlops = 2.0 * kSide * kSide * kSide;
  return kFlops / nanoseconds;
}

}  // namespace assay
