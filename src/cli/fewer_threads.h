// Whether a small model would be faster on fewer threads, found by running it on both.
#pragma once

#include <optional>
#include <string>

#include "assay/profile.h"

namespace assay::cli {

// One sentence with both times if fewer threads were faster in every round; nothing if they were
// not, or if the model runs so long that threads surely pay. `profile` is of `graph` with
// `options`.
std::optional<std::string> fewer_threads_note(const Graph& graph, const ProfileOptions& options,
                                              const Profile& profile);

}  // namespace assay::cli
