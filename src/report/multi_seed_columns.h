// The statistics of a version over several seeds as named figures.
#pragma once

#include <string>
#include <vector>

#include "assay/sweep_result.h"
#include "report/hardware_columns.h"

namespace assay::report {

// A version's statistics, and how many seeds recommended it.
struct SeedVersion {
  SeedAggregate aggregate = {};
  std::size_t recommended = 0;
};

std::vector<SeedVersion> seed_versions(const std::vector<SweepRun>& runs);

// Nothing if the version always failed or the figure is not there.
const Spread* find_spread(const SeedAggregate& aggregate, const std::string& figure);

// Which version this is and how often it ran.
NamedFigures seed_version_figures(const SeedVersion& version);

// mean, std, min, max and interval; a single run has neither deviation nor interval.
NamedFigures spread_figures(const Spread* spread);

}  // namespace assay::report
