#include <fmt/core.h>

#include "assay/device_report.h"
#include "report/csv.h"
#include "report/device_fields.h"

namespace assay {

using namespace assay::report;

namespace {

// A column of values, one of their kinds and one of their sources.
struct CsvFigure {
  std::string column;
  const Figures* figures = nullptr;  // null if the device has none
};

std::vector<CsvFigure> csv_figures(const Device& device) {
  std::vector<CsvFigure> all;
  for (const DeviceField& field : device_fields()) {
    all.push_back({field.key, &(device.*field.figures)});
  }
  for (const std::string& precision : device_precisions()) {
    const auto known = device.peaks.find(precision);
    const bool is_integer = precision.starts_with("int");
    all.push_back({precision + (is_integer ? "_gops" : "_gflops"),
                   known == device.peaks.end() ? nullptr : &known->second});
  }
  return all;
}

std::string device_header() {
  const Device any;
  std::vector<std::string> cells = {"id", "name", "kind"};
  for (const CsvFigure& one : csv_figures(any)) {
    cells.insert(cells.end(), {one.column, one.column + "_kind", one.column + "_source"});
  }
  return csv_line(cells);
}

std::string row(const Device& device) {
  std::vector<std::string> cells = {device.id, device.name, std::string(name(device.kind))};
  for (const CsvFigure& one : csv_figures(device)) {
    const auto figure = one.figures == nullptr ? std::nullopt : best(*one.figures);
    if (figure) {
      cells.insert(cells.end(), {fmt::format("{}", figure->value),
                                 std::string(name(figure->provenance)), figure->source});
    } else {
      cells.insert(cells.end(), {"", "", ""});
    }
  }
  return csv_line(cells);
}

}  // namespace

std::string devices_csv(std::span<const Device> devices) {
  std::string text = device_header();
  for (const Device& device : devices) text += row(device);
  return text;
}

}  // namespace assay
