// Which devices a model fits, as people and programs read it; and a calibration, stored and read
// back.
#pragma once

#include <string>
#include <string_view>

#include "assay/fit.h"

namespace assay {

std::string fit_table(const FitReport& report);
std::string fit_json(const FitReport& report);
std::string fit_csv(const FitReport& report);

// How well each network is predicted from the others.
std::string held_out_table(const Calibration& calibration);

std::string calibration_json(const Calibration& calibration);
// Reads back what calibration_json wrote. An Error names the field of `described_as` that is wrong.
Calibration parse_calibration_json(std::string_view text, const std::string& described_as);

}  // namespace assay
