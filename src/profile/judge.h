// Compares a profile with what the machine allows: how near each step and layer comes to its least
// time, what bounds it, and the potential saving in milliseconds.
#pragma once

#include "assay/profile.h"

namespace assay::profile {

// Distinct bytes that a run touches: weights and arena.
double run_bytes_of(const Profile& profile);
StepWork work_of(const StepInfo& step, double run_bytes);

void judge(Profile& profile, const Roofline& roofline);

// The largest ratio of a step's rate to its ceiling, if above 1: 1.1 is 110 %. Steps too short for
// a reliable time are left out.
double furthest_above_ceiling(const Profile& profile);

}  // namespace assay::profile
