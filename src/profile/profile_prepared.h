// The measuring part of a profile, for any graph that is ready to run.
#pragma once

#include "assay/profile.h"
#include "profile/prepared.h"

namespace assay::profile {

// `feed` gives the compiled program its inputs and its state; `leave` sees it before it goes.
struct Attendant {
  std::function<void(Program&)> feed;
  std::function<void(const Program&)> leave = {};
};

Profile profile_prepared(Prepared prepared, StartUp start_up, const ProfileOptions& options,
                         const Attendant& attendant, Progress* progress);

}  // namespace assay::profile
