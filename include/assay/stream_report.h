// A stream as people and programs read it: a table of 80 columns, JSON, CSV; and the two CSV files
// of a hardware profile.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "assay/deployment.h"
#include "assay/layout.h"
#include "assay/stream.h"
#include "assay/stream_timing.h"

namespace assay {

// The estimate, and what was measured beside it.
struct StreamReport {
  HardwareProfile profile = {};
  StreamedModel streamed = {};
  std::optional<Deployment> deployment = {};
  bool lacks_deployment = false;  // stopped before it had any result

  bool was_interrupted() const {
    return streamed.was_interrupted() || lacks_deployment || (deployment && deployment->cancelled);
  }
};

std::string stream_table(const StreamReport& report, const Layout& layout = {});
std::string stream_json(const StreamReport& report);

std::string operator_profile_csv(const HardwareProfile& profile);  // a row for each operator
std::string hardware_totals_csv(const HardwareProfile& profile);   // a header and one row

// Makes the folder and writes operator_profile.csv and hardware_totals.csv into it; tells where:
// "operator_profile_csv" and "hardware_totals_csv" → path.
std::map<std::string, std::filesystem::path> write_hardware_profile_artifacts(
    const HardwareProfile& profile, const std::filesystem::path& folder);

}  // namespace assay
