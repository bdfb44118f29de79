// The change of bytes, MACs, latency and bandwidth from A to B.
#pragma once

#include <optional>

#include "assay/compare_report.h"
#include "assay/hardware_comparison.h"

namespace assay::report {

// Nothing if a stored profile has no bytes and MACs.
std::optional<HardwareImpact> impact_of(const ModelComparison& comparison);

}  // namespace assay::report
