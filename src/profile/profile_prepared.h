// The measuring part of a profile, for any graph that is ready to run.
#pragma once

#include "assay/profile.h"
#include "profile/prepared.h"

namespace assay::profile {

// `after_compile` gives the compiled program its inputs and its state; `before_release` may inspect
// the program after the last run.
struct ProgramCallbacks {
  std::function<void(Program&)> after_compile;
  std::function<void(const Program&)> before_release = {};
};

Profile profile_prepared(Prepared prepared, StartUp start_up, const ProfileOptions& options,
                         const ProgramCallbacks& callbacks, Progress* progress);

}  // namespace assay::profile
