#include <fmt/core.h>

#include "assay/error.h"
#include "assay/fit_report.h"
#include "assay/stored_calibration.h"
#include "base/cache_file.h"

namespace assay {

namespace {

// Nothing if none was cached, if the ceilings were measured again since, or if the file is damaged.
std::optional<Calibration> read_calibration(const std::optional<std::string>& path,
                                            const Machine& machine) {
  const auto text = read_cache(path);
  if (!text) return {};
  try {
    Calibration calibration = parse_calibration_json(*text, *path);
    if (calibration.ceilings_of != machine.measured_at) return {};
    return calibration;
  } catch (const Error&) {
    return {};  // it is measured again, and the file written again
  }
}

void warn_if_disturbed(const Calibration& calibration, std::vector<std::string>& warnings) {
  if (calibration.is_trustworthy()) return;
  warnings.push_back(fmt::format(
      "when this machine was calibrated ({}), other programs ran beside {} of {} networks: "
      "estimates "
      "are uncertain; set `recalibrate` when nothing else runs",
      calibration.measured_at, calibration.disturbed.size(), calibration.network_count));
}

// A disturbed calibration does not replace an undisturbed one.
void cache_calibration(const Calibration& calibration, const std::optional<Calibration>& before,
                       const std::optional<std::string>& path, std::vector<std::string>& warnings) {
  warn_if_disturbed(calibration, warnings);
  if (!calibration.is_trustworthy() && before && before->is_trustworthy()) return;
  std::string why_not = write_cache(path, calibration_json(calibration), "the calibration is");
  if (!why_not.empty()) warnings.push_back(std::move(why_not));
}

}  // namespace

std::optional<Calibration> cached_calibration(const Machine& machine,
                                              std::vector<std::string>& warnings) {
  const auto path = cache_path("calibration", fingerprint(machine.topology));
  auto cached = read_calibration(path, machine);
  if (cached) warn_if_disturbed(*cached, warnings);
  return cached;
}

Calibration cached_or_measured_calibration(const Machine& machine,
                                           std::vector<std::string>& warnings,
                                           const CalibrationCacheOptions& options,
                                           Progress* progress) {
  const auto path = cache_path("calibration", fingerprint(machine.topology));
  auto cached = read_calibration(path, machine);
  if (cached && !options.recalibrate) {
    warn_if_disturbed(*cached, warnings);
    return std::move(*cached);
  }
  const auto threads = static_cast<int>(machine.topology.usable.size());
  Calibration calibration = calibrate(machine, threads, calibration_networks(), progress);
  cache_calibration(calibration, cached, path, warnings);
  return calibration;
}

}  // namespace assay
