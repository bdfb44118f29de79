#include "execute/onednn/tuner.h"

#include <unistd.h>

#include <algorithm>
#include <limits>

#include "assay/timing.h"
#include "execute/onednn/own_convolution.h"

namespace assay::onednn {

namespace {

// Larger than the cache of one core that is still fast.
constexpr std::int64_t kCoreCache = std::int64_t{4} << 20;
constexpr std::int64_t kLikelyLastCache = std::int64_t{32} << 20;
// Copies of weights this large would cost more memory than a better choice is worth.
constexpr std::size_t kTooLargeToTry = std::size_t{64} << 20;
constexpr int kFewestRuns = 4;
constexpr int kMostRuns = 16;
constexpr std::int64_t kEnoughTime = 8'000'000;  // nanoseconds for one candidate
// What comes first is oneDNN's favourite: within the noise it stays, so that equal programs are
// compiled alike.
constexpr double kClearlyFaster = 0.97;
// A candidate twice as slow as the best after one run will not win.
constexpr double kHopeless = 2.0;

std::int64_t last_cache_bytes() {
  const long bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? bytes : kLikelyLastCache;
}

// Memory for every operand of a choice, filled with harmless numbers: untouched pages would all be
// the same page of zeros, and far too fast.
class Trial {
 public:
  Trial(const Choice& choice, const Reorders& reorders)
      : primitive_(choice.primitive), own_(choice.own) {
    add(DNNL_ARG_WEIGHTS, choice.weights);
    add(DNNL_ARG_SRC, choice.source);
    add(DNNL_ARG_BIAS, choice.bias);
    add(DNNL_ARG_DST, choice.result);
    add(DNNL_ARG_SCRATCHPAD, choice.scratchpad);
    for (const auto& [index, desc] : choice.operands) add(index, desc);
    for (std::size_t i = 0; i < memories_.size(); ++i) {
      arguments_.push_back({indices_[i], memories_[i].get()});
    }
    for (const auto& [from, to] : reorders) add_reorder(from, to);
  }

  const MemoryBlock& weights() const { return blocks_.front(); }
  void run() const {
    for (const Reorder& reorder : reorders_) {
      dnnl_primitive_execute(reorder.primitive.get(), cpu_stream().get(), 2, reorder.arguments);
    }
    if (own_ != nullptr) return run_own();
    dnnl_primitive_execute(primitive_.get(), cpu_stream().get(),
                           static_cast<int>(arguments_.size()), arguments_.data());
  }

 private:
  void add(int index, const Desc& desc) {
    if (bytes_of(desc) == 0) return;
    blocks_.emplace_back(bytes_of(desc), "choosing an algorithm");
    auto* floats = reinterpret_cast<float*>(blocks_.back().data());
    std::fill_n(floats, blocks_.back().size() / sizeof(float), 0.001f);
    memories_.emplace_back(desc, cpu(), floats);
    indices_.push_back(index);
  }

  float* operand(int index) const {
    const auto found = std::ranges::find(indices_, index);
    if (found == indices_.end()) return nullptr;
    return reinterpret_cast<float*>(
        blocks_[static_cast<std::size_t>(found - indices_.begin())].data());
  }

  void run_own() const {
    float* result = operand(DNNL_ARG_DST);
    own_->run({.source = operand(DNNL_ARG_SRC),
               .weights = operand(DNNL_ARG_WEIGHTS),
               .bias = operand(DNNL_ARG_BIAS),
               .addend = own_->adds() ? result : nullptr,
               .result = result,
               .scratch = operand(DNNL_ARG_SCRATCHPAD)});
  }

  void add_reorder(const Desc& from, const Desc& to) {
    Reorder reorder{.primitive = reorder_primitive(from, to)};
    add(DNNL_ARG_FROM, from);
    reorder.arguments[0] = {DNNL_ARG_FROM, memories_.back().get()};
    add(DNNL_ARG_TO, to);
    reorder.arguments[1] = {DNNL_ARG_TO, memories_.back().get()};
    reorders_.push_back(std::move(reorder));
  }

  struct Reorder {
    dnnl::primitive primitive;
    dnnl_exec_arg_t arguments[2] = {};
  };

  dnnl::primitive primitive_;
  std::shared_ptr<const OwnConvolution> own_;
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

Tuner::Tuner(std::int64_t model_bytes) {
  if (model_bytes <= kCoreCache) return;
  weights_come_from_ =
      model_bytes > last_cache_bytes() ? WeightsComeFrom::Memory : WeightsComeFrom::LastCache;
  evicting_ = MemoryBlock(static_cast<std::size_t>(kCoreCache), "choosing algorithms");
}

void Tuner::evict(const MemoryBlock& weights) {
  if (weights_come_from_ == WeightsComeFrom::Memory) flush_from_caches(weights);
  if (weights_come_from_ == WeightsComeFrom::Anywhere) return;
  auto* words = reinterpret_cast<volatile std::int64_t*>(evicting_.data());
  const std::size_t count = evicting_.size() / sizeof(std::int64_t);
  for (std::size_t i = 0; i < count; i += 8) words[i] = words[i] + 1;
}

std::int64_t Tuner::time_of(const Choice& choice, const Reorders& reorders,
                            std::int64_t best_so_far) {
  Clock& clock = steady_clock();
  const Trial trial(choice, reorders);
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  std::int64_t total = 0;
  trial.run();
  for (int run = 0; run < kMostRuns && (run < kFewestRuns || total < kEnoughTime); ++run) {
    evict(trial.weights());
    const std::int64_t start = clock.nanoseconds();
    trial.run();
    const std::int64_t time = clock.nanoseconds() - start;
    total += time;
    best = std::min(best, time);
    if (static_cast<double>(best) > kHopeless * static_cast<double>(best_so_far)) break;
  }
  return best;
}

std::size_t Tuner::fastest(const std::string& key, const std::vector<Choice>& choices,
                           const std::vector<Reorders>& reorders) {
  if (choices.size() < 2 || bytes_of(choices.front().weights) > kTooLargeToTry) return 0;
  std::string full = key;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    full += "; " + choices[i].implementation;
    if (i < reorders.size()) full += " +" + std::to_string(reorders[i].size());
  }
  const auto known = chosen_.find(full);
  if (known != chosen_.end()) return known->second;
  std::size_t winner = 0;
  std::int64_t best = std::numeric_limits<std::int64_t>::max() / 4;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const std::int64_t time =
        time_of(choices[i], i < reorders.size() ? reorders[i] : Reorders{}, best);
    if (static_cast<double>(time) >= kClearlyFaster * static_cast<double>(best)) continue;
    best = time;
    winner = i;
  }
  chosen_[full] = winner;
  return winner;
}

}  // namespace assay::onednn
