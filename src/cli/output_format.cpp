#include "cli/output_format.h"

namespace assay::cli {

Option* add_output_format(Command& command, OutputFormat& format, const std::string& csv_help) {
  auto* json = command.add_flag("--json", format.json, "print one JSON object");
  return command.add_flag("--csv", format.csv, csv_help)->excludes(json);
}

}  // namespace assay::cli
