// A count as people and programs read it: a table of 80 columns, JSON, CSV.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/count.h"

namespace assay {

struct CountTableOptions {
  std::optional<std::size_t> top = {};   // that many layers; 0: all of them
  std::optional<std::string> sort = {};  // a name of count_columns(), largest first
};

// The columns a count can be sorted by; also the CSV header.
std::vector<std::string> count_columns();

std::string count_table(const CountResult& result, const CountTableOptions& options = {});
std::string count_json(const CountResult& result, const CountTableOptions& options = {});
std::string count_csv(const CountResult& result, const CountTableOptions& options = {});

}  // namespace assay
