// How a command prints its result: as a table, or with --json or --csv for programs.
#pragma once

#include <string>

#include "cli/command.h"

namespace assay::cli {

struct OutputFormat {
  bool json = false;
  bool csv = false;
};

// Adds --json and --csv, which exclude each other, and returns --csv.
Option* add_output_format(Command& command, OutputFormat& format, const std::string& csv_help);

// Each argument is a function that makes the text.
template <typename Table, typename Json, typename Csv>
std::string formatted(const OutputFormat& format, Table table, Json json, Csv csv) {
  if (format.json) return json();
  return format.csv ? csv() : table();
}

}  // namespace assay::cli
