// Makes a version of a model as its recipe says: pruned, fine-tuned, in another precision.
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
  std::vector<std::string> notes = {};         // what was left as it was, and why
};

class VariantMaker {
 public:
  VariantMaker(const Graph& original, const OptimizeData& data, const OptimizeOptions& options)
      : original_(original), data_(data), options_(options) {}

  // Layers whose quantisation loses more than `max_loss` points of the score stay in float.
  void judge_by(ModelScore score, std::optional<double> max_loss) {
    score_ = std::move(score);
    max_loss_ = max_loss;
  }

  // Fine-tuning takes long and hardly changes the latency, so it is asked for separately.
  Variant make(const VariantRecipe& recipe, bool is_finetuned, Progress* progress) const;

 private:
  Variant pruned(double level, Progress* progress) const;
  PruneOptions pruning_at(double level, Progress* progress) const;
  Graph recalibrated(Graph graph, Progress* progress) const;
  Graph finetuned(const Graph& graph, Progress* progress) const;
  void change_precision(Variant& variant, VariantPrecision precision, Progress* progress) const;
  void quantize(Variant& variant, Progress* progress) const;
  double points_left(const Graph& pruned) const;

  const Graph& original_;
  const OptimizeData& data_;
  const OptimizeOptions& options_;
  ModelScore score_;
  std::optional<double> max_loss_;
  mutable std::optional<ChannelActivity> activity_;  // measured once
};

// The precisions that make sense for the model, small changes first.
struct LadderOptions {
  bool has_calibration = false;
  bool has_bfloat16 = false;
};
std::vector<VariantPrecision> precision_ladder(const Graph& model, const LadderOptions& options);

}  // namespace assay::optimize
