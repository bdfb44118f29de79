// Everything that a host without a common folder needs to work on a plan, in one folder of links.
#pragma once

#include <filesystem>
#include <string>

#include "assay/sweep.h"

namespace assay::cli {

// Writes FOLDER/parallel/bundle: the plan, its models, the data set and the model if they are
// files, this program with its libraries unless `remote_assay` names one, and run_shard.
void write_bundle(const std::filesystem::path& folder, const SweepPlan& plan,
                  const std::string& remote_assay, bool retry_errors);
std::filesystem::path bundle_folder(const std::filesystem::path& folder);

}  // namespace assay::cli
