#include "optimize/search.h"

#include <algorithm>
#include <cmath>

namespace assay::optimize {

namespace {

constexpr std::size_t kChangedPrecisions = 3;  // more would take long and change ever more

struct Rung {
  VariantPrecision precision = VariantPrecision::AsStored;
  Attempt attempt = {};
};

bool is_acceptable(const Attempt& attempt) {
  return attempt.meets_target() && attempt.is_within_loss;
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

VariantRecipe with_precision(const SearchSpace& space, VariantPrecision precision) {
  VariantRecipe recipe = space.base;
  recipe.prune = space.level.value_or(0);
  recipe.precision = precision;
  return recipe;
}

// The first that meets the target, of recipes that change ever more; whether it does within the
// loss is judged at the end.
std::optional<VariantRecipe> first_that_meets(const std::vector<VariantRecipe>& recipes,
                                              Tries& tries) {
  const auto recipe = [&](int step) { return recipes[static_cast<std::size_t>(step - 1)]; };
  const int last = static_cast<int>(recipes.size());
  if (last == 0 || !tries.costed(recipe(last)).meets_target()) return {};
  int step =
      first_step(last, [&](int middle) { return tries.costed(recipe(middle)).meets_target(); });
  // Fine-tuned weights are others: a version may be a little slower than before.
  while (step <= last && !tries.judged(recipe(step)).meets_target()) ++step;
  if (step > last || !tries.judged(recipe(step)).is_within_loss) return {};
  return recipe(step);
}

// The same recipe with each of these values.
std::vector<VariantRecipe> varied(VariantRecipe recipe, double VariantRecipe::*member,
                                  const std::vector<double>& values) {
  std::vector<VariantRecipe> recipes;
  for (const double value : values) {
    recipe.*member = value;
    recipes.push_back(recipe);
  }
  return recipes;
}

// Those that further changes may help, the nearest to the target first.
std::vector<Rung> worth_changing(std::vector<Rung> rungs) {
  std::erase_if(rungs, [](const Rung& rung) {
    return !rung.attempt.is_made || !rung.attempt.is_within_loss;
  });
  std::ranges::stable_sort(rungs, {}, [](const Rung& rung) { return rung.attempt.excess; });
  if (rungs.size() > kChangedPrecisions) rungs.resize(kChangedPrecisions);
  return rungs;
}

std::vector<Rung> tried(const SearchSpace& space, Tries& tries) {
  std::vector<Rung> rungs;
  for (const VariantPrecision precision : space.precisions) {
    rungs.push_back({precision, tries.judged(with_precision(space, precision))});
    if (is_acceptable(rungs.back().attempt)) break;
  }
  return rungs;
}

bool is_better(const Attempt& attempt, const Attempt& than) {
  return attempt.is_made && attempt.is_within_loss && attempt.latency_ms < than.latency_ms;
}

}  // namespace

std::vector<double> levels_up_to(double largest, double step) {
  const int steps = std::max(1, static_cast<int>(std::lround(largest / step)));
  std::vector<double> levels;
  // With two decimals, so that levels read well: 0.15, not 0.15000000000000002.
  for (int i = 1; i <= steps; ++i) levels.push_back(std::round(100 * step * i) / 100);
  return levels;
}

std::optional<VariantRecipe> smallest_change(const SearchSpace& space, Tries& tries) {
  const std::vector<Rung> rungs = tried(space, tries);
  if (!rungs.empty() && is_acceptable(rungs.back().attempt)) {
    return with_precision(space, rungs.back().precision);
  }
  const std::vector<Rung> nearest = worth_changing(rungs);
  const auto search = [&](double VariantRecipe::*member, const std::vector<double>& values) {
    for (const Rung& rung : nearest) {
      const auto recipes = varied(with_precision(space, rung.precision), member, values);
      if (const auto found = first_that_meets(recipes, tries)) return found;
    }
    return std::optional<VariantRecipe>();
  };
  if (const auto found = search(&VariantRecipe::low_rank, space.shares)) return found;
  if (space.level) return {};
  return search(&VariantRecipe::prune, space.levels);
}

std::optional<VariantRecipe> fastest_version(const SearchSpace& space, Tries& tries) {
  VariantRecipe best = with_precision(space, VariantPrecision::AsStored);
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
  // The last that is within the loss, of recipes that change ever more.
  const auto go_far = [&](const std::vector<VariantRecipe>& recipes) {
    first_step(static_cast<int>(recipes.size()) + 1,
               [&](int step) { return !consider(recipes[static_cast<std::size_t>(step - 1)]); });
  };
  for (const VariantPrecision precision : space.precisions) {
    consider(with_precision(space, precision));
  }
  go_far(varied(best, &VariantRecipe::low_rank, space.shares));
  if (!space.level) go_far(varied(best, &VariantRecipe::prune, space.levels));
  if (!is_better(fastest, original)) return {};
  return best;
}

std::size_t most_tries(const SearchSpace& space) {
  const std::size_t rungs = space.precisions.size();
  const auto bisections = [](const std::vector<double>& values) {
    if (values.empty()) return std::size_t{0};
    return static_cast<std::size_t>(std::ceil(std::log2(values.size()))) + 1;
  };
  const std::size_t changes =
      bisections(space.shares) + (space.level ? 0 : bisections(space.levels));
  return rungs + std::min(rungs, kChangedPrecisions) * changes;
}

}  // namespace assay::optimize
