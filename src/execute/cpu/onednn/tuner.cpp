#include "execute/cpu/onednn/tuner.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "assay/timing.h"
#include "base/cache_sizes.h"
#include "execute/cpu/onednn/trial.h"

namespace assay::cpu {

namespace {

// Larger than the cache of one core that is still fast.
constexpr std::int64_t kCoreCache = std::int64_t{4} << 20;
constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::size_t kTooLargeToTry = std::size_t{64} << 20;
// Candidates run in turns, one run each a round, until this much time has passed; on a machine that
// is busy, until the best times have been seen twice, but not for longer than kLongEnough.
constexpr int kFewestTurns = 3;
constexpr int kFewestTurnsIfLong = 2;
constexpr int kMostTurns = 30;
constexpr std::int64_t kLong = 5'000'000;         // nanoseconds of one run
constexpr std::int64_t kEnoughTime = 5'000'000;   // nanoseconds of all candidates of a layer
constexpr std::int64_t kLongEnough = 40'000'000;  // likewise
// A candidate that is slower than the best by this much will not win: after its first run, which
// may have to warm up, after its second, and after a few.
constexpr double kHopelessAtFirst = 4;
constexpr double kHopeless = 1.5;
constexpr double kHopelessAfterFew = 1.2;
constexpr double kSeenTwice = 1.05;
// Operands of candidates that wait for their turn stay in memory up to this size.
constexpr std::size_t kMostWaitingBytes = std::size_t{48} << 20;
// What comes first is oneDNN's favourite: within the noise it stays, so that equal programs are
// compiled alike. Much smaller weights may take a little longer: they leave more of the caches and
// of the bandwidth of memory to other layers.
constexpr double kSameTime = 1.03;
constexpr double kWorthSmallerWeights = 1.08;
// Weights of fewer bits must not make a layer slower.
constexpr double kWorthHalvedWeights = 1.01;

void flush_from_caches(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  for (std::size_t i = 0; i < bytes.size(); i += 64) __builtin_ia32_clflush(bytes.data() + i);
#elif defined(__aarch64__)
  // Linux lets programs clean and invalidate lines of their own memory.
  for (std::size_t i = 0; i < bytes.size(); i += 64) {
    asm volatile("dc civac, %0" : : "r"(bytes.data() + i) : "memory");
  }
  asm volatile("dsb ish" : : : "memory");
#else
  (void)bytes;
#endif
}

}  // namespace

bool is_too_large_to_try(const Choice& choice) {
  return bytes_of(choice.weights) > kTooLargeToTry;
}

Tuner::Tuner(const TunerOptions& options)
    : options_(options), known_(options.file, this_machine_and_library()) {
  if (options.model_bytes <= std::min(kCoreCache, last_cache_bytes()) || !options.measures) return;
  weights_come_from_ = options.model_bytes > last_cache_bytes() ? WeightsComeFrom::Memory
                                                                : WeightsComeFrom::LastCache;
  evicting_ = MemoryBlock(static_cast<std::size_t>(kCoreCache), "choosing algorithms");
}

// Weights that a choice enlarges take part of the last cache, too.
bool Tuner::come_from_memory(std::span<const std::byte> weights) const {
  if (weights_come_from_ != WeightsComeFrom::LastCache)
    return weights_come_from_ == WeightsComeFrom::Memory;
  return options_.model_bytes + static_cast<std::int64_t>(weights.size()) > last_cache_bytes();
}

void Tuner::evict(std::span<const std::byte> weights) {
  if (come_from_memory(weights)) flush_from_caches(weights);
  if (weights_come_from_ == WeightsComeFrom::Anywhere) return;
  auto* words = reinterpret_cast<volatile std::int64_t*>(evicting_.data());
  const std::size_t count = evicting_.size() / sizeof(std::int64_t);
  for (std::size_t i = 0; i < count; i += 8) words[i] = words[i] + 1;
}

namespace {

bool takes_much_less(const Choice& choice, const Choice& other) {
  return bytes_of(choice.weights) + bytes_of(choice.weights) / 4 < bytes_of(other.weights);
}

// The one to take of those that are `is_within(position, factor)` of the best time.
std::size_t preferred(const std::vector<Choice>& choices,
                      const std::function<bool(std::size_t, double)>& is_within) {
  std::size_t winner = 0;
  while (!is_within(winner, kSameTime)) ++winner;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const bool is_worth_it =
        is_within(i, choices[i].halves_weights ? kWorthHalvedWeights : kWorthSmallerWeights);
    if (is_worth_it && takes_much_less(choices[i], choices[winner])) winner = i;
  }
  return winner;
}

}  // namespace

// One candidate and its times so far.
class Tuner::Contender {
 public:
  Contender(const Choice& choice, const Reorders& reorders)
      : choice_(choice), reorders_(reorders) {}

  // Runs it once more, after a run to warm up if it is the first.
  void run(Tuner& tuner, std::int64_t best_of_all) {
    if (!trial_) trial_.emplace(choice_, reorders_, tuner.options_.threads, tuner.spare_);
    if (runs_ == 0 && is_hopeless_at_first(best_of_all)) return;
    tuner.evict(trial_->weights());
    add(timed());
  }
  // The operands are made again in the next round.
  std::size_t free_beyond(std::size_t waiting_bytes) {
    if (!trial_) return waiting_bytes;
    waiting_bytes += trial_->bytes();
    if (waiting_bytes <= kMostWaitingBytes) return waiting_bytes;
    waiting_bytes -= trial_->bytes();
    trial_.reset();
    return waiting_bytes;
  }
  void give_up_if_slower(std::int64_t best_of_all) {
    const double factor = runs_ >= kFewestTurns ? kHopelessAfterFew : kHopeless;
    if (is_within(factor, best_of_all)) return;
    has_lost_ = true;
    trial_.reset();
  }

  bool has_lost() const { return has_lost_; }
  std::int64_t best() const { return best_; }
  bool has_seen_its_best_twice() const {
    return static_cast<double>(second_) <= kSeenTwice * static_cast<double>(best_);
  }
  bool is_within(double factor, std::int64_t best_of_all) const {
    return static_cast<double>(best_) <= factor * static_cast<double>(best_of_all);
  }

 private:
  std::int64_t timed() const {
    Clock& clock = steady_clock();
    const std::int64_t begin = clock.nanoseconds();
    trial_->run();
    return clock.nanoseconds() - begin;
  }
  void add(std::int64_t time) {
    ++runs_;
    second_ = std::min(second_, std::max(best_, time));
    best_ = std::min(best_, time);
  }
  // Two runs, because other programs may delay one.
  bool is_hopeless_at_first(std::int64_t best_of_all) {
    for (int i = 0; i < 2; ++i) {
      const std::int64_t time = timed();
      if (static_cast<double>(time) <= kHopelessAtFirst * static_cast<double>(best_of_all))
        return false;
      best_ = std::min(best_, time);
    }
    has_lost_ = true;
    trial_.reset();
    return true;
  }

  const Choice& choice_;
  const Reorders& reorders_;
  std::optional<Trial> trial_;
  std::int64_t best_ = kNever;
  std::int64_t second_ = kNever;
  int runs_ = 0;
  bool has_lost_ = false;
};

// Whether the candidates that are left need no more rounds.
bool Tuner::is_settled(std::span<const std::unique_ptr<Contender>> contenders,
                       std::int64_t best_of_all, int rounds, std::int64_t spent) {
  std::size_t left = 0;
  bool has_seen_best_twice = true;
  for (const auto& one : contenders) {
    if (one->has_lost()) continue;
    ++left;
    has_seen_best_twice = has_seen_best_twice && one->has_seen_its_best_twice();
  }
  if (left <= 1 || spent >= kLongEnough) return true;
  const int fewest = best_of_all > kLong ? kFewestTurnsIfLong : kFewestTurns;
  return rounds >= fewest && spent >= kEnoughTime && has_seen_best_twice;
}

std::size_t Tuner::measured_fastest(const std::vector<Choice>& choices,
                                    const std::vector<Reorders>& reorders) {
  static const Reorders kNone;
  std::vector<std::unique_ptr<Contender>> contenders;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    contenders.push_back(
        std::make_unique<Contender>(choices[i], i < reorders.size() ? reorders[i] : kNone));
  }
  std::int64_t best = kNever;
  const std::int64_t begin = steady_clock().nanoseconds();
  for (int round = 1; round <= kMostTurns; ++round) {
    std::size_t waiting_bytes = 0;
    for (const auto& one : contenders) {
      if (one->has_lost()) continue;
      one->run(*this, best);
      best = std::min(best, one->best());
      waiting_bytes = one->free_beyond(waiting_bytes);
    }
    for (const auto& one : contenders) one->give_up_if_slower(best);
    if (is_settled(contenders, best, round, steady_clock().nanoseconds() - begin)) break;
  }
  return preferred(choices, [&](std::size_t i, double factor) {
    return contenders[i]->is_within(factor, best);
  });
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
