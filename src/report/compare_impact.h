// What a change from A to B does to bytes, MACs, latency and bandwidth.
#pragma once

#include <optional>

#include "assay/compare_report.h"
#include "assay/hardware_comparison.h"

namespace assay::report {

// Nothing where a stored profile does not tell its bytes and MACs.
std::optional<HardwareImpact> impact_of(const ModelComparison& comparison);

}  // namespace assay::report
