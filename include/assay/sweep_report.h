// A sweep's results as the files of its folder and as text. Everything is derived from the rows:
// files made again replace earlier ones. A figure that is not known is null, empty or "-", never 0.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "assay/layout.h"
#include "assay/sweep_result.h"

namespace assay {

// A name within a folder, and its content.
using NamedFile = std::pair<std::string, std::string>;

// Those of docs/sweep-files.md: tables, frontiers, pictures, summary.json. Files about the
// baseline's layers are left out until it has been analysed, sweep_errors.csv if no version failed.
std::vector<NamedFile> sweep_files(const SweepRun& run);

std::string sweep_summary_json(const SweepRun& run);
std::string sweep_table(const SweepRun& run, const Layout& layout = {});  // for people
// A header and a line for each row; the columns depend on the configuration's budgets only.
std::string sweep_results_csv(const std::vector<SweepRow>& rows, const SweepConfig& config);

// Of several seeds: `runs` and `aggregates`.
std::string multi_seed_json(const std::vector<SweepRun>& runs);
std::string multi_seed_csv(const std::vector<SweepRun>& runs);
std::string multi_seed_table(const std::vector<SweepRun>& runs, const Layout& layout = {});

}  // namespace assay
