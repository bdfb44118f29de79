// assay profile with several models, batches or numbers of threads: a table with a row each.
#pragma once

#include <functional>
#include <vector>

#include "cli/exit.h"
#include "cli/profile_arguments.h"

namespace assay::cli {

// One for each model, batch and number of threads, in this order.
std::vector<ProfileArguments> profile_settings(const ProfileArguments& arguments);

Exit run_profile_set(const ProfileArguments& arguments,
                     const std::vector<ProfileArguments>& settings, bool quiet,
                     const std::function<Profile(const ProfileArguments&)>& profile);

}  // namespace assay::cli
