// The exit code of a profile: interrupted, failed by --strict, or success.
#pragma once

#include "assay/profile.h"
#include "cli/exit.h"

namespace assay::cli {

// Prints on stderr what is wrong; --strict fails if a figure cannot be trusted.
Exit exit_after(const Profile& profile, bool strict);

}  // namespace assay::cli
