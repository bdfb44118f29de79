// The input of all rules: every step with the layer it is listed under and the work it does, and an
// estimate of its time if that work changed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "assay/profile.h"

namespace assay::profile {

struct StepFacts {
  const ProfileStep* step = nullptr;
  const ProfileLayer* layer = nullptr;  // that it is listed under
  StepWork work = {};

  double time_ms() const { return step->time_ms; }
  bool is_bound_by(Bound bound) const { return step->rates.bound == bound; }
  bool is_near_ceiling() const;  // a third of it or more
  bool is_reorder() const { return step->info.op == "Reorder"; }
  bool fell_back() const { return !step->info.fell_back.empty(); }
};
using StepGroup = std::vector<StepFacts>;
using ChangeOfWork = std::function<StepWork(StepWork)>;

class RunFacts {
 public:
  explicit RunFacts(const Profile& profile);

  const Profile& profile() const { return profile_; }
  const Roofline& roofline() const { return *profile_.roofline; }  // only if compared with ceilings
  const StepGroup& steps() const { return steps_; }
  // The steps for which `holds` returns true, slowest first.
  StepGroup where(const std::function<bool(const StepFacts&)>& holds) const;

  // The time with changed work, at the efficiency reached now (far below the ceiling, only what
  // the ceiling itself saves counts). The step overhead stays the same.
  double time_with(const StepFacts& step, const ChangeOfWork& change) const;
  double time_with(const StepGroup& group, const ChangeOfWork& change) const;

  double share(double time_ms) const { return time_ms / profile_.run_ms(); }
  std::string time_text(double time_ms) const;  // "4.1 ms (12 % of the run)"

 private:
  const Profile& profile_;
  StepGroup steps_;
};

double total_ms(const StepGroup& group);
StepWork total_work(const StepGroup& group);
// How near its ceilings the group comes as a whole; above 100 % the ceiling was measured too low.
double percent_of_ceiling(const StepGroup& group);
// The level of memory that bounds most of the group's time.
std::string main_level(const StepGroup& group);
std::vector<std::string> layer_names(const StepGroup& group);  // each once

// The share of weights in the bytes that a step moves.
double weight_share(const StepWork& work);
bool is_depthwise(const StepFacts& step);

}  // namespace assay::profile
