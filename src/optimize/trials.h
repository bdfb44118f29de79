// Versions of a model, made and measured when the search asks for them, and remembered.
#pragma once

#include <optional>
#include <vector>

#include "assay/optimize.h"
#include "base/part_of_progress.h"
#include "optimize/quality.h"
#include "optimize/search.h"
#include "optimize/variant.h"

namespace assay::optimize {

class Trials : public Tries {
 public:
  Trials(Graph model, OptimizeData data, OptimizeOptions options);
  Trials(const Trials&) = delete;
  Trials& operator=(const Trials&) = delete;

  const OptimizeOptions& options() const { return options_; }
  const Graph& model() const { return model_; }
  const OptimizeData& data() const { return data_; }
  const OptimizeTrial& original(Progress* progress);  // measured on first use
  bool has_original() const { return original_.has_value(); }
  VariantRecipe base_recipe();  // what every version has
  const SearchSpace& space();   // found on first use
  // What trials are judged by from now on; `most_tries` only scales the progress.
  void aim_at(const OptimizeGoal& goal, std::size_t most_tries, Progress* progress);

  Attempt costed(const VariantRecipe& recipe) override;
  Attempt judged(const VariantRecipe& recipe) override;

  const std::vector<OptimizeTrial>& trail() const { return trail_; }
  // The position in the trail of the version that comes nearest to the goal within the loss, if it
  // is nearer than the original. Only versions whose quality is known count.
  std::optional<std::size_t> nearest() const;
  // Judges versions that were only costed, until the nearest of all is known.
  std::optional<std::size_t> nearest_of_all();
  std::optional<std::size_t> position_of(const VariantRecipe& recipe) const;
  // Made again unless it is still at hand.
  Variant version(std::size_t position, Progress* progress);

 private:
  // The best version so far, so that an interrupted search has it at hand.
  struct Kept {
    VariantRecipe recipe;
    Variant version;
  };

  std::optional<std::size_t> nearest_where(bool is_judged) const;
  double score_of(const Graph& graph) const;
  bool needs_finetuning(const VariantRecipe& recipe) const;
  OptimizeTrial& tried(const VariantRecipe& recipe);
  void finish(OptimizeTrial& trial);  // fine-tunes and judges it
  // Stands still unless the try has a share of the progress of its own.
  PartOfProgress progress_of_try(const VariantRecipe& recipe, double share = 0) const;
  void measure(const Variant& version, OptimizeTrial& trial, Progress* progress) const;
  bool is_undecided(const LatencySummary& latency) const;
  void time_again(const Variant& version, OptimizeTrial& trial, Progress* progress) const;
  void add_quality(const Variant& version, OptimizeTrial& trial, Progress* progress) const;
  // The worst of its figures over the target's.
  double excess_of(const OptimizeTrial& trial, double margin = 1) const;
  void judge_by_goal(OptimizeTrial& trial) const;
  bool is_nearer(const OptimizeTrial& trial, const OptimizeTrial& than) const;
  void keep_if_best(const OptimizeTrial& trial, Variant version);
  Attempt attempt_of(const OptimizeTrial& trial) const;

  Graph model_;
  OptimizeData data_;
  OptimizeOptions options_;
  OptimizeGoal goal_;
  std::size_t most_tries_ = 1;
  Progress* progress_ = nullptr;
  VariantRecipe current_ = {};  // that is made or judged now, to show progress
  VariantMaker maker_;
  std::optional<QualityJudge> judge_;
  std::optional<OptimizeTrial> original_;
  std::vector<OptimizeTrial> trail_;
  std::optional<Kept> kept_;
  std::optional<bool> is_untidy_;
  std::optional<SearchSpace> space_;
};

}  // namespace assay::optimize
