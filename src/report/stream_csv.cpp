#include <fmt/core.h>

#include <array>

#include "assay/stream_report.h"
#include "base/atomic_file.h"
#include "base/text.h"
#include "report/csv.h"
#include "report/stream_parts.h"

namespace assay {

using namespace assay::report;

namespace {

std::string optional_number(const std::optional<double>& value) {
  return value ? fmt::format("{:.9g}", *value) : "";
}

}  // namespace

std::string operator_profile_csv(const HardwareProfile& profile) {
  std::string text = csv_line(std::array<std::string, 3>{"operator", "latency_ms", "memory_kb"});
  for (const OperatorProfile& row : profile.operator_profile) {
    text += csv_line(std::array<std::string, 3>{without_control_characters(row.operator_name),
                                                optional_number(row.latency_ms),
                                                optional_number(row.memory_kb)});
  }
  return text;
}

std::string hardware_totals_csv(const HardwareProfile& profile) {
  std::vector<std::string> header;
  std::vector<std::string> row;
  for (const auto& [key, value] : total_figures(profile.totals)) {
    header.emplace_back(key);
    row.push_back(optional_number(value));
  }
  return csv_line(header) + csv_line(row);
}

std::map<std::string, std::filesystem::path> write_hardware_profile_artifacts(
    const HardwareProfile& profile, const std::filesystem::path& folder) {
  make_folder(folder);
  std::map<std::string, std::filesystem::path> written = {
      {"operator_profile_csv", folder / "operator_profile.csv"},
      {"hardware_totals_csv", folder / "hardware_totals.csv"}};
  AtomicFile operators(written["operator_profile_csv"]);
  AtomicFile totals(written["hardware_totals_csv"]);
  operators.write(operator_profile_csv(profile));
  totals.write(hardware_totals_csv(profile));
  operators.commit();
  totals.commit();
  return written;
}

}  // namespace assay
