// Ceilings that were measured before on this machine, kept in the user's cache folder.
#pragma once

#include <optional>

#include "assay/machine.h"

namespace assay::cli {

// Nothing where none were kept, where they belong to another machine, or where the file is damaged.
std::optional<Machine> kept_machine(const Topology& topology);

// Ceilings that something else ran beside do not replace better ones. Adds to `warnings` what is
// wrong with them, or why they could not be kept.
void keep_machine(const Machine& machine, std::vector<std::string>& warnings);

// Measures all ceilings of this machine, which takes some 15 s.
Machine measured_machine(Topology topology, const CeilingOptions& options, Progress& progress);

// As kept; else measured now and kept. Adds to `warnings` as keep_machine does.
Machine known_machine(Progress& progress, std::vector<std::string>& warnings);

}  // namespace assay::cli
