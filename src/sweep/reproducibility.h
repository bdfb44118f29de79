// Everything that somebody else needs to do the same again.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "assay/sweep.h"

namespace assay::sweep {

struct RunFacts {
  std::uint64_t seed = 0;
  SweepHost host = {};
  std::string baseline_sha256 = "";  // of its file
  std::string command = "";
  std::string devices = "";  // that versions were measured on: "cpu"
};

std::vector<std::pair<std::string, std::string>> reproducibility_of(const SweepPlan& plan,
                                                                    const RunFacts& run);

}  // namespace assay::sweep
