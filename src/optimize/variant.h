// Makes a version of a model as its recipe says: pruned, in low rank, fine-tuned, in
// another precision.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/optimize.h"

namespace assay::optimize {

struct Variant {
  Graph graph = {};
  std::optional<Graph> before_precision = {};  // pruned and fine-tuned, in the model's own numbers
  std::vector<PrunedGroup> groups = {};        // of a pruned version
  std::vector<LowRankLayer> low_rank = {};     // of a factorised version
  std::vector<std::string> notes = {};         // what was left as it was, and why
};

class VariantMaker {
 public:
  VariantMaker(const Graph& original, const OptimizeData& data, const OptimizeOptions& options)
      : original_(original), data_(data), options_(options) {}

  // Layers whose quantisation loses more points of the score than the goal allows stay in float.
  void judge_by(ModelScore score, const OptimizeGoal& goal) {
    score_ = std::move(score);
    goal_ = goal;
  }

  // Fine-tuning takes long and hardly changes the latency, so it is asked for separately.
  Variant make(const VariantRecipe& recipe, bool is_finetuned, Progress* progress) const;

 private:
  // What a version is before its precision changes; several precisions share it.
  struct MadeBefore {
    VariantRecipe recipe;
    bool is_finetuned = false;
    Variant variant;
  };

  Variant before_precision(const VariantRecipe& recipe, bool is_finetuned,
                           Progress* progress) const;
  void remember(const VariantRecipe& recipe, bool is_finetuned, const Variant& variant) const;
  Variant pruned(double level, Progress* progress) const;
  PruneOptions pruning_at(double level, Progress* progress) const;
  Graph recalibrated(Graph graph, Progress* progress) const;
  void factorize(Variant& variant, double share) const;
  void change_precision(Variant& variant, VariantPrecision precision, Progress* progress) const;
  void quantize(Variant& variant, Progress* progress) const;
  double points_left(const Graph& pruned) const;

  const Graph& original_;
  const OptimizeData& data_;
  const OptimizeOptions& options_;
  ModelScore score_;
  OptimizeGoal goal_;
  mutable std::optional<ChannelActivity> activity_;  // measured once
  mutable std::vector<MadeBefore> made_;
};

}  // namespace assay::optimize
