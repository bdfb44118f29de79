#include "cli/output_format.h"

#include "cli/console.h"

namespace assay::cli {

FormatOptions add_output_format(Command& command, OutputFormat& format,
                                const std::string& csv_help) {
  FormatOptions options;
  command.heading("Output");
  options.json = command.add_flag("--json", format.json, "print one JSON object");
  options.markdown = command.add_flag("--markdown", format.markdown, "print tables in Markdown")
                         ->excludes(options.json);
  if (!csv_help.empty()) {
    options.csv = command.add_flag("--csv", format.csv, csv_help)
                      ->excludes(options.json)
                      ->excludes(options.markdown);
  }
  return options;
}

Layout layout_of(const OutputFormat& format) {
  return {.width = output_width(), .markdown = format.markdown};
}

}  // namespace assay::cli
