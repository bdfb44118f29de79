#include "execute/cpu/onednn/tuner.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "assay/timing.h"
#include "execute/cpu/kernels/own_convolution.h"
#include "execute/threads.h"

namespace assay::cpu {

namespace {

// Larger than the cache of one core that is still fast.
constexpr std::int64_t kCoreCache = std::int64_t{4} << 20;
constexpr std::int64_t kLikelyLastCache = std::int64_t{32} << 20;
constexpr std::size_t kTooLargeToTry = std::size_t{64} << 20;
constexpr int kFewestRuns = 2;
constexpr int kMostRuns = 100;
constexpr std::int64_t kEnoughTime = 4'000'000;   // nanoseconds that one candidate has run
constexpr std::int64_t kLongEnough = 12'000'000;  // nanoseconds with all that is between its runs
// A candidate that is slower than the best by this much after one run will not win; the very first
// run may have to warm up.
constexpr double kHopeless = 1.5;
constexpr double kHopelessAtFirst = 4;
// Candidates that come close to the best run again, in turns. A processor may change its speed
// between two short candidates, so those get more chances.
constexpr std::int64_t kShort = 200'000;  // nanoseconds
constexpr double kClose = 1.15;
constexpr double kCloseIfShort = 1.6;
constexpr int kTurns = 1;
constexpr int kTurnsIfShort = 4;
// What comes first is oneDNN's favourite: within the noise it stays, so that equal programs are
// compiled alike. Much smaller weights may take a little longer: they leave more of the caches and
// of the bandwidth of memory to other layers.
constexpr double kSameTime = 1.03;
constexpr double kWorthSmallerWeights = 1.08;
// Weights of fewer bits must not make a layer slower.
constexpr double kWorthHalvedWeights = 1.01;

std::int64_t last_cache_bytes() {
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? bytes : kLikelyLastCache;
}

// Memory for every operand of a choice, filled with harmless numbers: untouched pages would all be
// the same page of zeros, and far too fast.
class Trial {
 public:
  Trial(const Choice& choice, const Reorders& reorders, int threads)
      : primitive_(choice.primitive), own_(choice.own), threads_(threads) {
    add(choice.indices.weights, choice.weights);
    add(choice.indices.source, choice.source);
    add(choice.indices.bias, choice.bias);
    add(choice.indices.result, choice.result);
    add(argument::kScratchpad, choice.scratchpad);
    for (const auto& [index, desc] : choice.operands) add(index, desc);
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      arguments_.push_back({indices_[i], memories_[i].get()});
    }
    for (const auto& [from, to] : reorders) add_reorder(from, to);
  }

  const MemoryBlock& weights() const { return blocks_.front(); }
  void run() const {
    for (const Reorder& reorder : reorders_) {
      if (reorder.convert) reorder.convert();
      if (!reorder.primitive) continue;
      dnnl_primitive_execute(reorder.primitive.get(), dnnl_stream().get(), 2, reorder.arguments);
    }
    if (own_ != nullptr) return run_own();
    dnnl_primitive_execute(primitive_.get(), dnnl_stream().get(),
                           static_cast<int>(arguments_.size()), arguments_.data());
  }

 private:
  void add(int index, const Desc& desc) {
    if (bytes_of(desc) == 0) return;
    blocks_.emplace_back(bytes_of(desc), "choosing an algorithm");
    auto* floats = reinterpret_cast<float*>(blocks_.back().data());
    std::fill_n(floats, blocks_.back().size() / sizeof(float), 0.001f);
    memories_.emplace_back(desc, dnnl_engine(), floats);
    indices_.push_back(index);
  }

  float* operand(int index) const {
    const auto found = std::ranges::find(indices_, index);
    if (found == indices_.end()) return nullptr;
    return reinterpret_cast<float*>(
        blocks_[static_cast<std::size_t>(found - indices_.begin())].data());
  }

  void run_own() const {
    float* result = operand(argument::kResult);
    own_->run({.source = operand(argument::kSource),
               .weights = operand(argument::kWeights),
               .bias = operand(argument::kBias),
               .addend = own_->adds() ? result : nullptr,
               .result = result,
               .workspace = operand(argument::kScratchpad)});
  }

  void add_reorder(const Desc& from, const Desc& to) {
    Reorder reorder;
    add(argument::kFrom, from);
    const bool changes_float16 =
        (element_of(from) == DataType::Float16) != (element_of(to) == DataType::Float16);
    if (changes_float16) {
      reorder.convert = conversion(from);
      if (with_type(from, element_of(to)) == to) {
        reorders_.push_back(std::move(reorder));
        return;
      }
    }
    const Desc moved = changes_float16 ? with_type(from, element_of(to)) : from;
    reorder.primitive = reorder_primitive(moved, to);
    reorder.arguments[0] = {argument::kFrom, memories_.back().get()};
    add(argument::kTo, to);
    reorder.arguments[1] = {argument::kTo, memories_.back().get()};
    reorders_.push_back(std::move(reorder));
  }

  // The last operand added, in the layout it has, to or from float16.
  std::function<void()> conversion(const Desc& from) {
    const bool widens = element_of(from) == DataType::Float16;
    const DataType type = widens ? DataType::Float32 : DataType::Float16;
    const std::byte* source = blocks_.back().data();
    add(argument::kTo, with_type(from, type));
    std::byte* target = blocks_.back().data();
    const auto numbers = static_cast<std::int64_t>(bytes_of(from) / (widens ? 2 : 4));
    return [=, threads = threads_] {
      execute::in_parallel(threads, numbers, [&](std::int64_t first, std::int64_t last) {
        const auto count = static_cast<std::size_t>(last - first);
        if (widens)
          simd().widen(HalfFormat::Float16, reinterpret_cast<const std::uint16_t*>(source) + first,
                       reinterpret_cast<float*>(target) + first, count);
        else
          simd().narrow(HalfFormat::Float16, reinterpret_cast<const float*>(source) + first,
                        reinterpret_cast<std::uint16_t*>(target) + first, count);
      });
    };
  }

  struct Reorder {
    std::function<void()> convert = {};
    dnnl::primitive primitive = {};
    dnnl_exec_arg_t arguments[2] = {};
  };

  dnnl::primitive primitive_;
  std::shared_ptr<const OwnConvolution> own_;
  int threads_ = 1;
  std::vector<Reorder> reorders_;
  std::vector<MemoryBlock> blocks_;
  std::vector<dnnl::memory> memories_;
  std::vector<int> indices_;
  std::vector<dnnl_exec_arg_t> arguments_;
};

void flush_from_caches(const MemoryBlock& block) {
#if defined(__x86_64__)
  for (std::size_t i = 0; i < block.size(); i += 64) __builtin_ia32_clflush(block.data() + i);
#else
  (void)block;
#endif
}

}  // namespace

bool is_too_large_to_try(const Choice& choice) {
  return bytes_of(choice.weights) > kTooLargeToTry;
}

Tuner::Tuner(const TunerOptions& options) : options_(options), known_(options.file) {
  if (options.model_bytes <= kCoreCache || !options.measures) return;
  weights_come_from_ = options.model_bytes > last_cache_bytes() ? WeightsComeFrom::Memory
                                                                : WeightsComeFrom::LastCache;
  evicting_ = MemoryBlock(static_cast<std::size_t>(kCoreCache), "choosing algorithms");
}

// Weights that a choice enlarges take part of the last cache, too.
bool Tuner::come_from_memory(const MemoryBlock& weights) const {
  if (weights_come_from_ != WeightsComeFrom::LastCache)
    return weights_come_from_ == WeightsComeFrom::Memory;
  return options_.model_bytes + static_cast<std::int64_t>(weights.size()) > last_cache_bytes();
}

void Tuner::evict(const MemoryBlock& weights) {
  if (come_from_memory(weights)) flush_from_caches(weights);
  if (weights_come_from_ == WeightsComeFrom::Anywhere) return;
  auto* words = reinterpret_cast<volatile std::int64_t*>(evicting_.data());
  const std::size_t count = evicting_.size() / sizeof(std::int64_t);
  for (std::size_t i = 0; i < count; i += 8) words[i] = words[i] + 1;
}

namespace {

bool is_hopeless(std::int64_t time, double factor, std::int64_t best_so_far) {
  return static_cast<double>(time) > factor * static_cast<double>(best_so_far);
}

bool takes_much_less(const Choice& choice, const Choice& other) {
  return bytes_of(choice.weights) + bytes_of(choice.weights) / 4 < bytes_of(other.weights);
}

}  // namespace

std::int64_t Tuner::time_of(const Choice& choice, const Reorders& reorders,
                            std::int64_t best_so_far) {
  Clock& clock = steady_clock();
  const Trial trial(choice, reorders, options_.threads);
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  std::int64_t total = 0;
  const std::int64_t first = clock.nanoseconds();
  trial.run();
  const std::int64_t begin = clock.nanoseconds();
  if (is_hopeless(begin - first, kHopelessAtFirst, best_so_far)) return begin - first;
  const auto is_enough = [&](int runs) {
    return runs >= kFewestRuns &&
           (total >= kEnoughTime || clock.nanoseconds() - begin >= kLongEnough);
  };
  for (int run = 0; run < kMostRuns && !is_enough(run); ++run) {
    evict(trial.weights());
    const std::int64_t start = clock.nanoseconds();
    trial.run();
    const std::int64_t time = clock.nanoseconds() - start;
    total += time;
    best = std::min(best, time);
    if (is_hopeless(best, kHopeless, best_so_far)) break;
  }
  return best;
}

std::size_t Tuner::measured_fastest(const std::vector<Choice>& choices,
                                    const std::vector<Reorders>& reorders) {
  std::vector<std::int64_t> times(choices.size(), std::numeric_limits<std::int64_t>::max() / 4);
  std::int64_t best = times.front();
  const auto measure = [&](std::size_t i) {
    const Reorders& changes = i < reorders.size() ? reorders[i] : Reorders{};
    times[i] = std::min(times[i], time_of(choices[i], changes, best));
    best = std::min(best, times[i]);
  };
  const auto is_within = [&](std::size_t i, double factor) {
    return static_cast<double>(times[i]) <= factor * static_cast<double>(best);
  };
  for (std::size_t i = 0; i < choices.size(); ++i) measure(i);
  const bool is_short = best < kShort;
  for (int turn = 0; turn < (is_short ? kTurnsIfShort : kTurns); ++turn) {
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (is_within(i, is_short ? kCloseIfShort : kClose)) measure(i);
    }
  }
  std::size_t winner = 0;
  while (!is_within(winner, kSameTime)) ++winner;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const bool is_worth_it =
        is_within(i, choices[i].halves_weights ? kWorthHalvedWeights : kWorthSmallerWeights);
    if (is_worth_it && takes_much_less(choices[i], choices[winner])) winner = i;
  }
  return winner;
}

// Everything that the answer depends on.
std::string Tuner::question_of(const std::string& key, const std::vector<Choice>& choices,
                               const std::vector<Reorders>& reorders) const {
  std::string question = fmt::format("{} threads, weights from {}: {}", options_.threads,
                                     static_cast<int>(weights_come_from_), key);
  for (std::size_t i = 0; i < choices.size(); ++i) {
    question += "; " + choices[i].implementation;
    if (i < reorders.size()) question += " +" + std::to_string(reorders[i].size());
  }
  return question;
}

std::size_t Tuner::fastest(const std::string& key, const std::vector<Choice>& choices,
                           const std::vector<Reorders>& reorders) {
  if (choices.size() < 2 || !options_.measures || is_too_large_to_try(choices.front())) return 0;
  const std::string question = question_of(key, choices, reorders);
  const auto is_answer = [](std::size_t i, const Choice& choice, const std::string& answer) {
    return answer == fmt::format("{} {}", i, choice.implementation);
  };
  if (const auto answer = known_.find(question)) {
    for (std::size_t i = 0; i < choices.size(); ++i) {
      if (is_answer(i, choices[i], *answer)) return i;
    }
  }
  const std::size_t winner = measured_fastest(choices, reorders);
  known_.add(question, fmt::format("{} {}", winner, choices[winner].implementation));
  return winner;
}

}  // namespace assay::cpu
