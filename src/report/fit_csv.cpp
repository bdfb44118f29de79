#include <fmt/core.h>

#include "assay/fit_report.h"
#include "base/text.h"
#include "report/csv.h"

namespace assay {

using namespace assay::report;

std::string fit_csv(const FitReport& report) {
  const std::vector<std::string> header = {"id",
                                           "name",
                                           "bound_ms",
                                           "estimate_ms",
                                           "estimate_low_ms",
                                           "estimate_high_ms",
                                           "memory_bytes",
                                           "power_watts",
                                           "energy_proxy_j",
                                           "precision",
                                           "verdict",
                                           "reason"};
  std::string text = csv_line(header);
  for (const DeviceFit& fit : report.devices) {
    const std::vector<std::string> cells = {
        without_control_characters(fit.id),
        without_control_characters(fit.name),
        csv_number(fit.bound_ms),
        csv_number(fit.estimate_ms),
        csv_number(fit.estimate_low_ms),
        csv_number(fit.estimate_high_ms),
        fit.memory_bytes ? fmt::format("{:.0f}", *fit.memory_bytes) : "",
        csv_number(fit.power_watts),
        csv_number(fit.energy_proxy_j),
        fit.precision,
        std::string(name(fit.verdict)),
        fit.reason};
    text += csv_line(cells);
  }
  return text;
}

}  // namespace assay
