// Settings profiled in turns: every round profiles each of them once, so that other load on the
// machine slows all of them alike.
#pragma once

#include "assay/study.h"
#include "assay/timing.h"

namespace assay::profile {

struct StudySetting {
  std::string what;  // "width=64"
  std::string name;  // of the model
  Graph graph;
  RunOptions run = {};
};

struct StudiedProfiles {
  std::vector<Profile> profiles;  // one for each setting: its round of median latency
  std::vector<std::string> warnings;
};

// Compared with the ceilings of `options.machine`, or of this machine. Throws an Error of kind
// Cancelled if `progress` cancels before all is measured.
StudiedProfiles profile_in_rounds(const std::vector<StudySetting>& settings,
                                  const StudyOptions& options, Progress* progress);

// Other load on the machine since this was made, as warnings of a study.
class LoadSince {
 public:
  explicit LoadSince(MachineState& machine = this_machine())
      : machine_(machine), before_(machine.times()) {}
  // Only what makes a measurement noisy, and not what `warnings` tell already.
  void add_to(std::vector<std::string>& warnings) const;

 private:
  MachineState& machine_;
  std::optional<MachineTimes> before_;
};

// The bindings and inputs of `run`, the program and the seed of `options`.
RunOptions study_run(const RunOptions& run, const StudyOptions& options);

// What bounds most of a run's time; time between steps is overhead.
std::optional<Bound> main_bound(const Profile& profile);

// The facts that every study tells, of one of its profiles.
void set_facts(const Profile& profile, Study& study);

[[noreturn]] void fail_cancelled();

}  // namespace assay::profile
