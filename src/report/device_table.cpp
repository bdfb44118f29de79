#include <fmt/core.h>

#include <cmath>
#include <string>

#include "assay/device_report.h"
#include "base/text.h"
#include "report/device_fields.h"
#include "report/figures.h"
#include "report/headline.h"
#include "report/text_table.h"

namespace assay {

using namespace assay::report;

namespace {

// "5.56*": unmeasured figures have a space instead of the mark, so that digits align.
std::string marked(const std::optional<Figure>& figure, auto&& text) {
  if (!figure) return "- ";
  return text(figure->value) + (figure->provenance == FigureProvenance::Measured ? "*" : " ");
}

std::optional<Figure> peak_of(const Device& device, std::string_view precision) {
  const auto known = device.peaks.find(precision);
  return known == device.peaks.end() ? std::nullopt : best(known->second);
}

std::string tera_text(double giga) {
  const double tera = giga / 1000.0;
  return tera < 0.00995 ? "<0.01" : rate_text(tera);
}

std::string watt_text(double watts) {
  return watts < 0.995 ? fmt::format("{:.2f}", watts) : fmt::format("{:.3g}", watts);
}

// "4 GiB", but "7.7 GiB": sizes as they are sold, in a narrow column.
std::string memory_text(double bytes) {
  const std::string text = with_binary_unit(bytes);
  const auto space = text.find(' ');
  const double number = std::stod(text.substr(0, space));
  const bool is_whole = number == std::floor(number) || number >= 99.95;
  return fmt::format("{:.{}f}{}", number, is_whole ? 0 : 1, text.substr(space));
}

std::vector<std::string> cells_of(const Device& device) {
  const auto memory = best(device.memory_bytes);
  const auto rate = [](double value) { return rate_text(value); };
  return {
      " " + without_control_characters(device.id), without_control_characters(device.name),
      memory ? memory_text(memory->value) : "-",   marked(best(device.memory_bandwidth_gbps), rate),
      marked(peak_of(device, "fp32"), rate),       marked(peak_of(device, "int8"), tera_text),
      marked(best(device.power_watts), watt_text)};
}

constexpr const char* kLegend =
    "GFLOP/s are fp32, TOP/s int8, dense, a multiply-add counted as two; watts under full load, or "
    "the rated power. * is measured; all else is a datasheet's, and the bandwidth that programs "
    "see is less, on boards often 43 to 79 % of it. 'assay devices ID' lists every source.";

}  // namespace

std::string devices_table(std::span<const Device> devices, const Layout& layout) {
  TextTable table({{.title = " id", .shrinks = true, .narrowest = 20},
                   {.title = "name", .shrinks = true, .narrowest = 10},
                   {.title = "memory", .is_number = true},
                   {.title = "GB/s ", .is_number = true},
                   {.title = "GFLOP/s", .is_number = true},
                   {.title = "TOP/s ", .is_number = true},
                   {.title = "watts", .is_number = true}});
  std::optional<DeviceKind> group;
  for (const Device& device : devices) {
    if (group != device.kind) table.add_row({std::string(name(device.kind))});
    group = device.kind;
    table.add_row(cells_of(device));
  }
  return table.render(layout) + "\n" + wrapped(kLegend);
}

}  // namespace assay
