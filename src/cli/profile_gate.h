// How a profile ends: interrupted, refused by --strict, or well.
#pragma once

#include "assay/profile.h"
#include "cli/exit.h"

namespace assay::cli {

// Says on standard error what is wrong; --strict refuses a figure that is not what it seems.
Exit exit_after(const Profile& profile, bool strict);

}  // namespace assay::cli
