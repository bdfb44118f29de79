#include "optimize/trials.h"

#include <algorithm>
#include <limits>

#include "assay/timing.h"
#include "base/fail.h"
#include "base/part_of_progress.h"
#include "optimize/search_space.h"
#include "optimize/tidying.h"
#include "optimize/variant_cost.h"

namespace assay::optimize {

namespace {

double seconds_from(std::int64_t start) {
  return static_cast<double>(steady_clock().nanoseconds() - start) * 1e-9;
}

constexpr double kFinetuningShare = 0.9;  // of the progress of a try

double points_lost(const VariantQuality& before, const VariantQuality& after) {
  constexpr double kPoints = 100;
  if (before.accuracy && after.accuracy) {
    return kPoints * (before.accuracy->value - after.accuracy->value);
  }
  return kPoints * (1 - after.agreement);
}

}  // namespace

Trials::Trials(Graph model, OptimizeData data, OptimizeOptions options)
    : model_(std::move(model)),
      data_(std::move(data)),
      options_(std::move(options)),
      maker_(model_, data_, options_) {}

const OptimizeTrial& Trials::original(Progress* progress) {
  if (original_) return *original_;
  PartOfProgress part(progress, 0, 0, "measuring the original");
  part.report(0, "");
  OptimizeTrial trial;
  const std::int64_t start = steady_clock().nanoseconds();
  measure({.graph = model_}, trial, &part);
  judge_.emplace(model_, data_, options_.program, &part);
  trial.quality = judge_->original();
  trial.loss_points = 0;
  trial.seconds = seconds_from(start);
  original_ = std::move(trial);
  return *original_;
}

VariantRecipe Trials::base_recipe() {
  if (!is_untidy_) is_untidy_ = options_.tidies && is_untidy(model_);
  return {.low_rank = options_.low_rank.value_or(0), .tidy = *is_untidy_};
}

const SearchSpace& Trials::space() {
  if (!space_) {
    space_ = search_space(model_, options_, base_recipe(), data_.calibration.batches > 0);
  }
  return *space_;
}

void Trials::aim_at(const OptimizeGoal& goal, std::size_t most_tries, Progress* progress) {
  goal_ = goal;
  most_tries_ = std::max<std::size_t>(1, most_tries);
  progress_ = progress;
  original(progress);
  maker_.judge_by([this](const Graph& graph) { return score_of(graph); }, goal);
  judge_by_goal(*original_);
  for (OptimizeTrial& trial : trail_) judge_by_goal(trial);
}

// Percentage points of accuracy, or of agreement with the original.
double Trials::score_of(const Graph& graph) const {
  PartOfProgress part = progress_of_try(current_);
  const VariantQuality quality = judge_->judge(graph, &part);
  return 100 * (quality.accuracy ? quality.accuracy->value : quality.agreement);
}

Attempt Trials::costed(const VariantRecipe& recipe) {
  return attempt_of(tried(recipe));
}

Attempt Trials::judged(const VariantRecipe& recipe) {
  OptimizeTrial& trial = tried(recipe);
  if (trial.cost && !trial.quality) finish(trial);
  return attempt_of(trial);
}

double Trials::excess_of(const OptimizeTrial& trial, double margin) const {
  if (!trial.cost) return std::numeric_limits<double>::infinity();
  if (!goal_.has_target()) return trial.cost->judged_ms();
  double excess = 0;
  if (goal_.target_ms) excess = trial.cost->judged_ms() / (margin * *goal_.target_ms);
  if (goal_.target_mb) excess = std::max(excess, trial.cost->memory_mb / *goal_.target_mb);
  return excess;
}

std::optional<std::size_t> Trials::nearest_where(bool is_judged) const {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < trail_.size(); ++i) {
    if (is_judged && !trail_[i].quality) continue;
    if (is_nearer(trail_[i], best ? trail_[*best] : *original_)) best = i;
  }
  return best;
}

std::optional<std::size_t> Trials::nearest() const {
  return nearest_where(true);
}

std::optional<std::size_t> Trials::nearest_of_all() {
  auto best = nearest_where(false);
  while (best && !trail_[*best].quality) {
    judged(trail_[*best].recipe);
    best = nearest_where(false);
  }
  return best;
}

std::optional<std::size_t> Trials::position_of(const VariantRecipe& recipe) const {
  const auto found = std::ranges::find(trail_, recipe, &OptimizeTrial::recipe);
  if (found == trail_.end()) return {};
  return static_cast<std::size_t>(found - trail_.begin());
}

Variant Trials::version(std::size_t position, Progress* progress) {
  const OptimizeTrial& trial = trail_[position];
  if (kept_ && kept_->recipe == trial.recipe) return kept_->version;
  return maker_.make(trial.recipe, trial.quality && needs_finetuning(trial.recipe), progress);
}

bool Trials::needs_finetuning(const VariantRecipe& recipe) const {
  return options_.finetune_epochs > 0 && (recipe.prune > 0 || recipe.low_rank > 0);
}

// Makes and measures it the first time; fine-tuning is left for later.
OptimizeTrial& Trials::tried(const VariantRecipe& recipe) {
  if (recipe == VariantRecipe{}) return *original_;
  if (const auto known = position_of(recipe)) return trail_[*known];
  current_ = recipe;
  PartOfProgress part = progress_of_try(recipe);
  part.report(0, "");
  OptimizeTrial trial{.recipe = recipe};
  const std::int64_t start = steady_clock().nanoseconds();
  try {
    Variant version = maker_.make(recipe, false, &part);
    measure(version, trial, &part);
    if (!needs_finetuning(recipe)) add_quality(version, trial, &part);
    judge_by_goal(trial);
    keep_if_best(trial, std::move(version));
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Cancelled) throw;
    trial.error = error.what();
    trial.cost.reset();
  }
  trial.seconds = seconds_from(start);
  trail_.push_back(std::move(trial));
  return trail_.back();
}

void Trials::finish(OptimizeTrial& trial) {
  current_ = trial.recipe;
  PartOfProgress part = progress_of_try(trial.recipe);
  PartOfProgress finetuning = progress_of_try(trial.recipe, kFinetuningShare);
  const std::int64_t start = steady_clock().nanoseconds();
  Variant version = maker_.make(trial.recipe, true, &finetuning);
  measure(version, trial, &part);
  add_quality(version, trial, &part);
  judge_by_goal(trial);
  trial.seconds += seconds_from(start);
  keep_if_best(trial, std::move(version));
}

PartOfProgress Trials::progress_of_try(const VariantRecipe& recipe, double share) const {
  const auto all = static_cast<double>(most_tries_ + 1);
  const double from = std::min(0.95, static_cast<double>(trail_.size() + 1) / all);
  const bool trains = share > 0;
  return {progress_, from, std::min(1.0, from + share / all),
          (trains ? "fine-tuning " : "trying ") + describe(recipe)};
}

void Trials::measure(const Variant& version, OptimizeTrial& trial, Progress* progress) const {
  trial.cost = cost_of(version.graph, options_, progress);
  trial.notes = version.notes;
  if (!options_.device) return time_again(version, trial, progress);
  const Graph& floats = version.before_precision ? *version.before_precision : version.graph;
  trial.cost->on_device =
      fit_on(*options_.device, version.graph, floats, trial.recipe.precision, options_.bindings);
}

// Its fastest run meets the target and its median does not: other programs may have been in the
// way, and a larger change that loses more would be chosen instead.
bool Trials::is_undecided(const LatencySummary& latency) const {
  if (!goal_.target_ms) return false;
  const double aim_ms = goal_.margin * *goal_.target_ms;
  return latency.min_ms <= aim_ms && latency.median_ms > aim_ms;
}

void Trials::time_again(const Variant& version, OptimizeTrial& trial, Progress* progress) const {
  constexpr int kMoreTimes = 2;
  LatencySummary& latency = trial.cost->latency;
  for (int i = 0; i < kMoreTimes && is_undecided(latency); ++i) {
    const LatencySummary again = cost_of(version.graph, options_, progress).latency;
    if (again.median_ms < latency.median_ms) latency = again;
  }
}

void Trials::add_quality(const Variant& version, OptimizeTrial& trial, Progress* progress) const {
  trial.quality = judge_->judge(version.graph, progress);
  trial.loss_points = points_lost(*original_->quality, *trial.quality);
}

void Trials::judge_by_goal(OptimizeTrial& trial) const {
  trial.meets_target = !goal_.has_target() || excess_of(trial) <= 1;
  trial.is_within_loss =
      !goal_.max_loss || !trial.loss_points || *trial.loss_points <= *goal_.max_loss;
}

bool Trials::is_nearer(const OptimizeTrial& trial, const OptimizeTrial& than) const {
  if (!trial.cost || !trial.is_within_loss) return false;
  return !than.is_within_loss || excess_of(trial) < excess_of(than);
}

void Trials::keep_if_best(const OptimizeTrial& trial, Variant version) {
  const auto kept_at = kept_ ? position_of(kept_->recipe) : std::nullopt;
  const bool is_same = kept_ && kept_->recipe == trial.recipe;
  const OptimizeTrial& so_far = kept_at ? trail_[*kept_at] : *original_;
  if (!kept_ || is_same || is_nearer(trial, so_far)) kept_ = Kept{trial.recipe, std::move(version)};
}

Attempt Trials::attempt_of(const OptimizeTrial& trial) const {
  if (!trial.cost) return {};
  return {.is_made = true,
          .excess = goal_.has_target() ? excess_of(trial, goal_.margin) : 0,
          .is_within_loss = trial.is_within_loss,
          .latency_ms = trial.cost->judged_ms()};
}

}  // namespace assay::optimize
