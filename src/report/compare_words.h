// What a verdict means, in words.
#pragma once

#include <string>

#include "assay/compare_report.h"

namespace assay::report {

struct ComparedNames {
  std::string a = "A";
  std::string b = "B";
};
std::string verdict_words(const Comparison& result, const ComparedNames& names = {});

}  // namespace assay::report
