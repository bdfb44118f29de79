// Two short probes of the machine, each under 0.1 s. Estimates: a verdict needs real ceilings.
#pragma once

#include <cstdint>
#include <optional>

#include "assay/program.h"

namespace assay {

// GB/s at which `threads` threads read `bytes` bytes again and again: caches count where the bytes
// fit into them. Run it while no program holds pinned threads.
double estimate_bandwidth_gbps(int threads, std::int64_t bytes);

// GFLOP/s of a matrix product on the fast engine; missing where it has no fast one.
std::optional<double> estimate_peak_gflops(const ProgramOptions& options);

}  // namespace assay
