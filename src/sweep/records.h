// The records of all journals of a folder, by task.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "assay/sweep.h"
#include "report/json_parts.h"

namespace assay::sweep {

struct Records {
  std::map<std::string, report::Json> by_task = {};
  std::size_t read = 0;
  std::size_t duplicates = 0;
  std::size_t damaged_lines = 0;
  std::size_t foreign = 0;
};

// The results of a plan's tasks. Where a task was done twice, a result is taken before an error,
// and the earlier one of two: however often and in whatever order journals are read.
Records read_records(const std::filesystem::path& folder, const SweepPlan& plan);

std::filesystem::path journal_folder(const std::filesystem::path& folder);
bool is_error(const report::Json& record);

}  // namespace assay::sweep
