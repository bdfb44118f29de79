// Widths that this machine rewards: the model is timed at several, group by group.
#include <algorithm>
#include <memory>

#include "base/fail.h"
#include "optimize/prune/batches.h"
#include "optimize/prune/timed_version.h"
#include "transform/prune/plan.h"

namespace assay {

using namespace assay::optimize;

namespace {

// The widest width whose time is as good as the best.
std::int64_t rewarded_width(const std::vector<TimedWidth>& timed, double worth) {
  const double best = std::ranges::min(timed, {}, &TimedWidth::time_ms).time_ms;
  std::int64_t widest = 0;
  for (const TimedWidth& one : timed) {
    if (one.time_ms <= best * (1 + worth)) widest = std::max(widest, one.kept);
  }
  return widest;
}

class WidthSearch {
 public:
  WidthSearch(const Graph& model, const PruneOptions& pruning, const WidthOptions& options,
              Progress* progress)
      : model_(model), pruning_(pruning), options_(options), progress_(progress) {
    if (options.runs == 0 || options.multiples.empty())
      fail_usage("widths are measured with at least one run and one multiple");
  }

  MeasuredWidths run() && {
    for (const std::int64_t multiple : options_.multiples) add_version(rounded(multiple));
    add_version(unpruned());
    time_versions(0.4);
    choose_by_group();
    PruneOptions mixed = pruning_;
    mixed.keep = chosen_;
    add_version(mixed);
    time_versions(0.8);
    choose_as_a_whole();
    return std::move(result_);
  }

 private:
  PruneOptions rounded(std::int64_t multiple) const {
    PruneOptions options = pruning_;
    options.round_to = multiple;
    return options;
  }
  PruneOptions unpruned() const {
    PruneOptions options = pruning_;
    options.level = 0;
    options.keep = {};
    return options;
  }
  std::size_t original() const { return options_.multiples.size(); }
  std::size_t mixed() const { return original() + 1; }

  void add_version(const PruneOptions& pruning) {
    report_progress(progress_, 0.1 * static_cast<double>(versions_.size()), "compiling versions");
    PruneResult pruned = prune_model(model_, pruning);
    groups_.push_back(std::move(pruned.groups));
    versions_.push_back(
        std::make_unique<TimedVersion>(pruned.graph, pruning_.bindings, options_.program));
  }

  void time_versions(double fraction) {
    for (std::size_t i = 0; i < options_.runs; ++i) {
      report_progress(progress_, fraction, "timing widths");
      for (const auto& version : versions_) version->run();
    }
  }

  void choose_by_group() {
    const transform::FollowedModel followed(model_, pruning_.bindings);
    for (std::size_t g = 0; g < followed.groups.size(); ++g) {
      if (!followed.groups[g].frozen.empty()) continue;
      const auto layers = transform::layers_touched(followed.flow, followed.groups[g]);
      GroupWidths widths{.name = followed.groups[g].name, .timed = {}, .kept = 0};
      for (std::size_t i = 0; i < versions_.size(); ++i)
        widths.timed.push_back(
            {groups_[i][g].kept, versions_[i]->layers_ms({layers.begin(), layers.end()})});
      std::ranges::stable_sort(widths.timed, {}, &TimedWidth::kept);
      widths.kept = rewarded_width(widths.timed, options_.worth);
      chosen_[widths.name] = widths.kept;
      result_.groups.push_back(std::move(widths));
    }
  }

  // Layers share caches and layouts: what was best one by one has to be best together.
  void choose_as_a_whole() {
    std::size_t best = mixed();
    for (std::size_t i = 0; i < versions_.size(); ++i) {
      if (versions_[i]->whole_ms() < versions_[best]->whole_ms() / (1 + options_.worth)) best = i;
    }
    if (versions_[best]->whole_ms() >= versions_[original()]->whole_ms()) best = original();
    if (best == original())
      result_.warnings.push_back(fmt::format(
          "pruned by {:g}, the model is not faster here: nothing is cut", pruning_.level));
    for (GroupWidths& widths : result_.groups) {
      for (const PrunedGroup& group : groups_[best]) {
        if (group.name == widths.name) widths.kept = group.kept;
      }
      result_.keep[widths.name] = widths.kept;
    }
    result_.original_ms = versions_[original()]->whole_ms();
    result_.pruned_ms = versions_[best]->whole_ms();
  }

  const Graph& model_;
  const PruneOptions& pruning_;
  const WidthOptions& options_;
  Progress* progress_ = nullptr;
  std::vector<std::unique_ptr<TimedVersion>> versions_;  // by multiple, the original, the mixed one
  std::vector<std::vector<PrunedGroup>> groups_;         // of each
  std::map<std::string, std::int64_t> chosen_;
  MeasuredWidths result_;
};

}  // namespace

MeasuredWidths measure_widths(const Graph& model, const PruneOptions& pruning,
                              const WidthOptions& options, Progress* progress) {
  return WidthSearch(model, pruning, options, progress).run();
}

}  // namespace assay
