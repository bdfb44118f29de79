// What a verdict means, in words.
#pragma once

#include <string>

#include "assay/compare_report.h"

namespace assay::report {

std::string verdict_words(const Comparison& result);

}  // namespace assay::report
