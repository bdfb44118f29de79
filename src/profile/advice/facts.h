// What all rules look at: every step with the layer whose time it is and the work it does, and what
// would become of its time if that work changed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "assay/profile.h"

namespace assay::profile {

struct StepFacts {
  const ProfileStep* step = nullptr;
  const ProfileLayer* layer = nullptr;  // whose time it is
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
  const Roofline& roofline() const { return *profile_.roofline; }  // only where it was judged
  const StepGroup& steps() const { return steps_; }
  // Those that `holds` is true of, slowest first.
  StepGroup where(const std::function<bool(const StepFacts&)>& holds) const;

  // The time with other work, at the efficiency reached now (far below the ceiling, only what
  // the ceiling itself gains counts). Starting a step takes what it takes.
  double time_with(const StepFacts& step, const ChangeOfWork& change) const;
  double time_with(const StepGroup& group, const ChangeOfWork& change) const;

  double share(double time_ms) const { return time_ms / profile_.typical_run_ms; }
  std::string time_text(double time_ms) const;  // "4.1 ms (12 % of the run)"

 private:
  const Profile& profile_;
  StepGroup steps_;
};

double total_ms(const StepGroup& group);
StepWork total_work(const StepGroup& group);
// How near its ceilings the group comes as a whole; what lies above is an error of the ceiling.
double percent_of_ceiling(const StepGroup& group);
// The level of memory that binds most of the group's time.
std::string main_level(const StepGroup& group);
std::vector<std::string> layer_names(const StepGroup& group);  // each once

// Of the bytes a step moves, those that are weights.
double weight_share(const StepWork& work);
bool is_depthwise(const StepFacts& step);

}  // namespace assay::profile
