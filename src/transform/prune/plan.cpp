#include "transform/prune/plan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/as_size.h"
#include "base/fail.h"

namespace assay::transform {

namespace {

bool has_same_nodes(const Graph& a, const Graph& b) {
  return a.node_count() == b.node_count() && a.value_count() == b.value_count();
}

KeptAxes kept_axes(const ChannelFlow& flow, const std::vector<bool>& is_removed) {
  KeptAxes result(flow.graph().value_count());
  for (std::uint32_t i = 0; i < result.size(); ++i) {
    for (const ChannelAxes& one : flow.settled(ValueId{i})) {
      KeptAxis kept{one.axes.front(), {}};
      for (std::size_t at = 0; at < one.channels.size(); ++at) {
        const Channel channel = one.channels[at];
        if (channel == kFixed || !is_removed[flow.sets().find(channel)])
          kept.positions.push_back(static_cast<std::int64_t>(at));
      }
      if (kept.positions.size() < one.channels.size()) result[i].push_back(std::move(kept));
    }
  }
  return result;
}

std::int64_t rounded_to(std::int64_t wanted, std::int64_t count, std::int64_t step) {
  const std::int64_t nearest = (wanted + step / 2) / step * step;
  return std::min(count, std::max(nearest, std::min(step, count)));
}

// A tie goes to the even number, as in Python, where this formula comes from.
std::int64_t uniform_keep(std::int64_t count, double level) {
  const double wanted = std::nearbyint(static_cast<double>(count) * (1 - level));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(wanted));
}

struct Candidate {
  std::size_t group = 0;
  std::size_t place = 0;
  double importance = 0;
};

class Pruner {
 public:
  Pruner(const FollowedModel& followed, const PruneOptions& options)
      : options_(options), followed_(followed), flow_(followed.flow), groups_(followed.groups) {}

  PrunePlan run() && {
    for (const ChannelGroup& group : groups_) plan_.groups.push_back(described(group));
    check_what_is_asked();
    rank();
    choose_counts();
    choose_channels();
    keep_one_everywhere();
    count_kept();
    plan_.kept = kept_axes(flow_, is_removed_);
    warn_of_averages();
    return std::move(plan_);
  }

 private:
  bool can_go(Channel channel) const { return flow_.sets().frozen(channel).empty(); }

  void check_what_is_asked() const {
    if (options_.level > 0 || !options_.keep.empty()) check_something_can_go();
    for (const auto& [name, count] : options_.keep) {
      const auto found = std::ranges::find(groups_, name, &ChannelGroup::name);
      if (found == groups_.end())
        fail_usage("there is no group '{}' to prune: groups are named for their first layer", name);
      if (count < 1 || count > static_cast<std::int64_t>(found->channels.size()))
        fail_usage("group '{}' cannot keep {} of its {} channels", name, count,
                   found->channels.size());
    }
  }

  void check_something_can_go() const {
    if (groups_.empty()) fail_bad_input("nothing can be pruned: no layer has weights");
    const bool is_stuck = std::ranges::all_of(
        groups_, [](const ChannelGroup& group) { return !group.frozen.empty(); });
    if (is_stuck)
      fail_bad_input(
          "nothing can be pruned: of {} groups of layers, the first, '{}', stays as it is: {}",
          groups_.size(), groups_.front().name, groups_.front().frozen);
  }

  void rank() {
    importance_.resize(groups_.size());
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      if (!groups_[i].frozen.empty()) continue;
      importance_[i] = channel_importance(followed_.inferred, flow_, groups_[i],
                                          {options_.criterion, &options_.activity});
      const bool lacks_norm = options_.criterion == PruneCriterion::BatchNormScale &&
                              !has_batch_norm(flow_, groups_[i]);
      if (lacks_norm)
        plan_.warnings.push_back(fmt::format(
            "group '{}' has no batch norm: its channels are ranked by L1", groups_[i].name));
    }
  }

  // Least important channels of all groups, until the level is reached; one of each group stays.
  std::vector<std::int64_t> global_counts() const {
    std::vector<Candidate> all;
    std::vector<std::int64_t> counts;
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      counts.push_back(static_cast<std::int64_t>(groups_[i].channels.size()));
      for (std::size_t place = 0; place < importance_[i].size(); ++place) {
        if (can_go(groups_[i].channels[place])) all.push_back({i, place, importance_[i][place]});
      }
    }
    std::ranges::stable_sort(all, {}, &Candidate::importance);
    auto left =
        static_cast<std::int64_t>(std::llround(static_cast<double>(all.size()) * options_.level));
    for (const Candidate& one : all) {
      if (left == 0) break;
      if (counts[one.group] == 1) continue;
      --counts[one.group];
      --left;
    }
    return counts;
  }

  std::int64_t rounded_count(const ChannelGroup& group, std::int64_t wanted) const {
    const auto count = static_cast<std::int64_t>(group.channels.size());
    std::int64_t step = options_.round_to / std::gcd(options_.round_to, group.width);
    while (step > 1 && count / step < options_.least_widths) step /= 2;
    return rounded_to(wanted, count, step);
  }

  void choose_counts() {
    counts_ = options_.ranking == PruneRanking::Global ? global_counts()
                                                       : std::vector<std::int64_t>(groups_.size());
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const auto count = static_cast<std::int64_t>(groups_[i].channels.size());
      if (options_.ranking == PruneRanking::Uniform)
        counts_[i] = uniform_keep(count, options_.level);
      if (counts_[i] < count) counts_[i] = rounded_count(groups_[i], counts_[i]);
      const auto fixed = options_.keep.find(groups_[i].name);
      if (fixed != options_.keep.end()) counts_[i] = fixed->second;
    }
  }

  void choose_channels() {
    is_removed_.assign(flow_.sets().size(), false);
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const ChannelGroup& group = groups_[i];
      if (!group.frozen.empty()) continue;
      std::vector<std::size_t> order(group.channels.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::erase_if(order, [&](std::size_t place) { return !can_go(group.channels[place]); });
      std::ranges::stable_sort(order, std::greater<>(),
                               [&](std::size_t p) { return importance_[i][p]; });
      const auto bound = static_cast<std::int64_t>(group.channels.size() - order.size());
      const auto kept = as_size(std::max<std::int64_t>(counts_[i] - bound, bound == 0 ? 1 : 0));
      for (std::size_t place = kept; place < order.size(); ++place)
        is_removed_[group.channels[order[place]]] = true;
    }
  }

  // Parts of a layer's channels may be read on their own: some of each have to stay.
  void keep_one_everywhere() {
    std::vector<double> worth(flow_.sets().size(), 0.0);
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      for (std::size_t place = 0; place < importance_[i].size(); ++place)
        worth[groups_[i].channels[place]] = importance_[i][place];
    }
    for (std::uint32_t i = 0; i < flow_.graph().value_count(); ++i) {
      for (const ChannelAxes& one : flow_.settled(ValueId{i})) restore_best(one, worth);
    }
  }

  void restore_best(const ChannelAxes& axis, const std::vector<double>& worth) {
    std::optional<Channel> best;
    for (const Channel channel : axis.channels) {
      if (channel == kFixed || !is_removed_[flow_.sets().find(channel)]) return;
      const Channel set = flow_.sets().find(channel);
      if (!best || worth[set] > worth[*best]) best = set;
    }
    if (best) is_removed_[*best] = false;
  }

  void count_kept() {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      plan_.groups[i].kept = std::ranges::count_if(
          groups_[i].channels, [&](Channel channel) { return !is_removed_[channel]; });
    }
  }

  void warn_of_averages() {
    std::size_t count = 0;
    std::string first;
    for (const ChannelAverage& average : flow_.averages()) {
      const auto& axes = plan_.kept[average.value.number];
      if (std::ranges::find(axes, average.axis, &KeptAxis::axis) == axes.end()) continue;
      if (count++ == 0) first = flow_.graph().display_name(average.node);
    }
    if (count > 0)
      plan_.warnings.push_back(fmt::format(
          "{} norms or means, '{}' first, now run over the channels that are left: their results "
          "differ from those of the original with zeroed channels",
          count, first));
  }

  const PruneOptions& options_;
  const FollowedModel& followed_;
  const ChannelFlow& flow_;
  const std::vector<ChannelGroup>& groups_;
  std::vector<std::vector<double>> importance_;  // by group and channel; none of frozen groups
  std::vector<std::int64_t> counts_;             // by group: channels to keep
  std::vector<bool> is_removed_;                 // by set of channels
  PrunePlan plan_;
};

}  // namespace

// A branch that was taken in place of its If has nodes that the given model does not.
FollowedModel::FollowedModel(const Graph& given, const Bindings& bindings)
    : inferred(infer_shapes(bind_inputs(given, bindings).graph)),
      model(has_same_nodes(given, inferred.graph) ? given : inferred.graph),
      flow(inferred) {
  flow.run();
  groups = channel_groups(flow);
}

PrunedGroup described(const ChannelGroup& group) {
  const auto count = static_cast<std::int64_t>(group.channels.size());
  return {group.name, group.layers, count, count, group.width, group.frozen};
}

PrunePlan plan_pruning(const FollowedModel& followed, const PruneOptions& options) {
  return Pruner(followed, options).run();
}

}  // namespace assay::transform
