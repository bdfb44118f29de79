#include "optimize/search.h"

#include <algorithm>
#include <cmath>

namespace assay::optimize {

namespace {

constexpr std::size_t kPrunedPrecisions = 3;  // more would take long and change ever more

struct Rung {
  VariantPrecision precision = VariantPrecision::AsStored;
  Attempt attempt = {};
};

bool is_acceptable(const Attempt& attempt) {
  return attempt.meets_target() && attempt.is_within_loss;
}

int steps_of(const SearchSpace& space) {
  return std::max(1, static_cast<int>(std::lround(space.largest_level / space.step)));
}

// In [0, 1) with two decimals, so that levels read well: 0.15, not 0.15000000000000002.
double level_at(const SearchSpace& space, int step) {
  return std::round(100 * space.step * step) / 100;
}

// The smallest step from 1 to `last` for which the condition holds, if it holds from there on;
// `last` if it holds for none before.
template <typename Condition>
int first_step(int last, Condition holds) {
  int low = 0;
  int high = last;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (holds(middle) ? high : low) = middle;
  }
  return high;
}

// The smallest level that meets the target; whether it does within the loss is judged at the end.
std::optional<VariantRecipe> smallest_level(const SearchSpace& space, VariantPrecision precision,
                                            Tries& tries) {
  const auto recipe = [&](int step) { return VariantRecipe{level_at(space, step), precision}; };
  const int last = steps_of(space);
  if (!tries.costed(recipe(last)).meets_target()) return {};
  int step =
      first_step(last, [&](int middle) { return tries.costed(recipe(middle)).meets_target(); });
  // Fine-tuned weights are others: a version may be a little slower than before.
  while (step <= last && !tries.judged(recipe(step)).meets_target()) ++step;
  if (step > last || !tries.judged(recipe(step)).is_within_loss) return {};
  return recipe(step);
}

// Those that pruning may help, the nearest to the target first.
std::vector<Rung> worth_pruning(std::vector<Rung> rungs) {
  std::erase_if(rungs, [](const Rung& rung) {
    return !rung.attempt.is_made || !rung.attempt.is_within_loss;
  });
  std::ranges::stable_sort(rungs, {}, [](const Rung& rung) { return rung.attempt.excess; });
  if (rungs.size() > kPrunedPrecisions) rungs.resize(kPrunedPrecisions);
  return rungs;
}

std::vector<Rung> tried(const SearchSpace& space, Tries& tries) {
  std::vector<Rung> rungs;
  for (const VariantPrecision precision : space.precisions) {
    rungs.push_back({precision, tries.judged({space.level.value_or(0), precision})});
    if (is_acceptable(rungs.back().attempt)) break;
  }
  return rungs;
}

bool is_better(const Attempt& attempt, const Attempt& than) {
  return attempt.is_made && attempt.is_within_loss && attempt.latency_ms < than.latency_ms;
}

}  // namespace

std::optional<VariantRecipe> smallest_change(const SearchSpace& space, Tries& tries) {
  const std::vector<Rung> rungs = tried(space, tries);
  if (!rungs.empty() && is_acceptable(rungs.back().attempt)) {
    return VariantRecipe{space.level.value_or(0), rungs.back().precision};
  }
  if (space.level) return {};
  for (const Rung& rung : worth_pruning(rungs)) {
    if (const auto found = smallest_level(space, rung.precision, tries)) return found;
  }
  return {};
}

std::optional<VariantRecipe> fastest_version(const SearchSpace& space, Tries& tries) {
  VariantRecipe best{space.level.value_or(0), VariantPrecision::AsStored};
  const Attempt original = tries.judged({});
  Attempt fastest = original;
  const auto consider = [&](const VariantRecipe& recipe) {
    const Attempt attempt = tries.judged(recipe);
    if (is_better(attempt, fastest)) {
      fastest = attempt;
      best = recipe;
    }
    return attempt.is_made && attempt.is_within_loss;
  };
  for (const VariantPrecision precision : space.precisions) {
    consider({space.level.value_or(0), precision});
  }
  if (!space.level) {
    const VariantPrecision precision = best.precision;
    first_step(steps_of(space) + 1, [&](int step) {
      return !consider({level_at(space, step), precision});
    });
  }
  if (!is_better(fastest, original)) return {};
  return best;
}

std::size_t most_tries(const SearchSpace& space) {
  const std::size_t rungs = space.precisions.size();
  if (space.level) return rungs;
  const auto bisections = static_cast<std::size_t>(std::ceil(std::log2(steps_of(space)))) + 1;
  return rungs + std::min(rungs, kPrunedPrecisions) * bisections;
}

}  // namespace assay::optimize
