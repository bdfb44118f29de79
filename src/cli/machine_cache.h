// Ceilings that were measured before on this machine, kept in the user's cache folder.
#pragma once

#include <optional>

#include "assay/machine.h"

namespace assay::cli {

// Nothing where none were kept, where they belong to another machine, or where the file is damaged.
std::optional<Machine> kept_machine(const Topology& topology);

// Returns why it could not be kept; empty if it was.
std::string keep_machine(const Machine& machine);

// Measures all ceilings of this machine, which takes some 15 s.
Machine measured_machine(Topology topology, const CeilingOptions& options, Progress& progress);

// As kept; else measured now and kept. Adds to `warnings` why it could not be kept.
Machine known_machine(Progress& progress, std::vector<std::string>& warnings);

}  // namespace assay::cli
