// How a command prints its result: as a table as wide as the terminal, as Markdown, or with --json
// or --csv for programs.
#pragma once

#include <string>

#include "assay/layout.h"
#include "cli/command.h"
#include "cli/origin.h"

namespace assay::cli {

struct OutputFormat {
  bool json = false;
  bool csv = false;
  bool markdown = false;
};

// Options of which only one may be given; `csv` is null where there is no CSV.
struct FormatOptions {
  Option* json = nullptr;
  Option* csv = nullptr;
  Option* markdown = nullptr;
};

// Adds --json, --markdown and, if it has a help text, --csv.
FormatOptions add_output_format(Command& command, OutputFormat& format,
                                const std::string& csv_help = "");

// As wide as the terminal, or 80 columns where there is none.
Layout layout_of(const OutputFormat& format);

// Each argument is a function that makes the text; that of the table takes a Layout.
template <typename Table, typename Json>
std::string formatted(const OutputFormat& format, Table table, Json json) {
  if (format.json) return with_origin(json());
  const Layout layout = layout_of(format);
  return finished(table(layout), layout);
}

template <typename Table, typename Json, typename Csv>
std::string formatted(const OutputFormat& format, Table table, Json json, Csv csv) {
  return format.csv ? csv() : formatted(format, table, json);
}

}  // namespace assay::cli
