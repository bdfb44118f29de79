// Ceilings that were measured before on this machine, kept in the user's cache folder.
#pragma once

#include <optional>

#include "assay/machine.h"

namespace assay::cli {

// Nothing where none were kept, where they belong to another machine, or where the file is damaged.
std::optional<Machine> kept_machine(const Topology& topology);

// Returns why it could not be kept; empty if it was.
std::string keep_machine(const Machine& machine);

}  // namespace assay::cli
