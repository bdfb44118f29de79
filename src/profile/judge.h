// Holds a profile against what the machine allows: how near each step and layer comes to its least
// time, what binds it, and how many milliseconds are to be gained.
#pragma once

#include "assay/profile.h"

namespace assay::profile {

// Distinct bytes that a run touches: all that the program holds.
double run_bytes_of(const Profile& profile);
StepWork work_of(const StepInfo& step, double run_bytes);

void judge(Profile& profile, const Roofline& roofline);

// How far the step that is furthest above its ceiling is above it: 1.1 is 110 %. Steps too short
// for a sure time are left out.
double furthest_above_ceiling(const Profile& profile);

}  // namespace assay::profile
