// Which devices a model fits, and the calibration behind the estimates, as people and programs read
// them.
#pragma once

#include <string>

#include "assay/fit.h"
#include "assay/layout.h"

namespace assay {

std::string fit_table(const FitReport& report, const Layout& layout = {});
std::string fit_json(const FitReport& report);
std::string fit_csv(const FitReport& report);

// How well each network is predicted from the others.
std::string held_out_table(const Calibration& calibration, const Layout& layout = {});

std::string calibration_json(const Calibration& calibration);

}  // namespace assay
