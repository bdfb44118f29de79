#include <fmt/core.h>

#include <algorithm>

#include "assay/fit_report.h"
#include "base/text.h"
#include "report/figures.h"
#include "report/headline.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

std::string time_text(const std::optional<double>& milliseconds) {
  return milliseconds ? duration_text(*milliseconds) : "-";
}

// "12.3 to 20.1 ms", in one unit.
std::string band_text(const DeviceFit& fit) {
  if (!fit.estimate_low_ms || !fit.estimate_high_ms) return "-";
  const TimeUnit unit = time_unit(*fit.estimate_high_ms);
  const auto digits = [&](double milliseconds) {
    return rate_text(milliseconds / unit.milliseconds);
  };
  return fmt::format("{}–{} {}", digits(*fit.estimate_low_ms), digits(*fit.estimate_high_ms),
                     unit.name);
}

std::string energy_text(const std::optional<double>& joules) {
  return joules ? joules_text(*joules) : "-";
}

std::string setting_text(const FitReport& report) {
  return fmt::format("batch {}, {}; needs {} = {} weights + {} activations", report.batch,
                     report.precision, binary_text(report.need_bytes()),
                     binary_text(report.weight_bytes), binary_text(report.activation_bytes));
}

std::string limits_text(const FitLimits& limits) {
  std::vector<std::string> parts;
  const auto add = [&](const std::optional<double>& limit, const char* unit) {
    if (limit) parts.push_back(fmt::format("{:g} {}", *limit, unit));
  };
  add(limits.max_ms, "ms");
  add(limits.max_mb, "MB");
  add(limits.max_watts, "W");
  return parts.empty() ? "" : "at most " + join(parts, ", ");
}

TextTable devices_table(const FitReport& report) {
  TextTable table({{.title = "device", .shrinks = true, .narrowest = 14},
                   {.title = "at least", .is_number = true},
                   {.title = "about", .is_number = true},
                   {.title = "likely", .is_number = true},
                   {.title = "energy", .is_number = true},
                   {.title = "verdict", .shrinks = true, .narrowest = 12}});
  for (const DeviceFit& fit : report.devices) {
    table.add_row({without_control_characters(fit.id), time_text(fit.bound_ms),
                   time_text(fit.estimate_ms), band_text(fit), energy_text(fit.energy_proxy_j),
                   std::string(name(fit.verdict))});
  }
  return table;
}

// One sentence for all devices with the same reason.
std::string reasons(const FitReport& report) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_reason;
  for (const DeviceFit& fit : report.devices) {
    if (fit.verdict == FitVerdict::Fits) continue;
    const std::string why = fmt::format("{}: {}", name(fit.verdict), fit.reason);
    auto known = std::ranges::find(by_reason, why, [](const auto& entry) { return entry.first; });
    if (known == by_reason.end()) known = by_reason.insert(by_reason.end(), {why, {}});
    known->second.push_back(without_control_characters(fit.id));
  }
  std::string text;
  for (const auto& [why, ids] : by_reason) text += wrapped(join(ids, ", ") + " " + why + ".");
  return text.empty() ? "" : text + "\n";
}

std::string convention(const FitReport& report) {
  return wrapped(fmt::format(
      "'at least' follows from the device's peak and bandwidth; 'about' assumes that each kind of "
      "layer is as efficient as on this machine, where built-in networks are predicted "
      "from each other within {:.0f} % (median; nine in ten within {:.0f} %). Of a datasheet's "
      "bandwidth 61 % is used, 43 to 79 % in 'likely'. Energy is power × time, a proxy.",
      100 * report.median_error, 100 * report.wide_error));
}

}  // namespace

std::string fit_table(const FitReport& report, const Layout& layout) {
  return headline(report.model) + "\n" + labelled("setting", setting_text(report)) +
         labelled("limits", limits_text(report.limits)) + "\n" +
         devices_table(report).render(layout) + "\n" + reasons(report) + convention(report);
}

std::string held_out_table(const Calibration& calibration, const Layout& layout) {
  TextTable table({{.title = "predicted from the others", .shrinks = true, .narrowest = 12},
                   {.title = "measured", .is_number = true},
                   {.title = "estimated", .is_number = true},
                   {.title = "error", .is_number = true},
                   {.title = "bound", .is_number = true}});
  for (const HeldOut& one : calibration.held_out) {
    table.add_row({without_control_characters(one.model), duration_text(one.measured_ms),
                   duration_text(one.estimated_ms), fmt::format("{:+.1f}%", 100 * one.error()),
                   duration_text(one.bound_ms)});
  }
  return table.render(layout) +
         fmt::format(
             "\n{} threads, measured {}. Median error {:.1f} %, nine in ten within {:.1f} %.\n",
             calibration.threads, calibration.measured_at, 100 * calibration.median_error(),
             100 * calibration.wide_error());
}

}  // namespace assay
