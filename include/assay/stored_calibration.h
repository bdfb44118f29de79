// Calibrations that were stored as JSON, and the cache of the one measured on this machine.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/fit.h"

namespace assay {

// Reads what calibration_json wrote. Throws an Error that names `described_as` and the wrong field.
Calibration parse_calibration_json(std::string_view text, const std::string& described_as);

// Nothing if this machine was not calibrated since its ceilings were measured. Adds to `warnings`
// if other programs disturbed it.
std::optional<Calibration> cached_calibration(const Machine& machine,
                                              std::vector<std::string>& warnings);

struct CalibrationCacheOptions {
  bool recalibrate = false;  // measure again even if one is cached
};

// The calibration of this machine from the cache, if it is based on the same ceilings; otherwise
// calibration_networks() are run, which takes some two minutes, and the result is cached. Adds to
// `warnings` if it was disturbed by other programs, or could not be written.
Calibration cached_or_measured_calibration(const Machine& machine,
                                           std::vector<std::string>& warnings,
                                           const CalibrationCacheOptions& options = {},
                                           Progress* progress = nullptr);

}  // namespace assay
