// The figures of hardware reports in their order, so that every format has the same ones.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "assay/hardware_report.h"
#include "report/json_parts.h"

namespace assay::report {

using NamedFigures = std::vector<std::pair<std::string, Json>>;

// The keys of a summary; those that need a peak are null without one.
NamedFigures summary_figures(const HardwareSummary& summary);

// As JSON: without the keys that need a peak if there is none, with what was clamped and the class.
Json hardware_summary_object(const HardwareSummary& summary);

// The content of `hardware_summary_json` without its schema, and a list of devices.
Json hardware_json(const HardwareReport& report);

// By figure: before, after and the change in %.
Json impact_json(const HardwareImpact& impact);

// As a cell of CSV: nothing for null and for what is not finite, text as it is, numbers in their
// shortest exact form.
std::string csv_cell(const Json& value);
std::string csv_header(const NamedFigures& figures);
std::string csv_row(const NamedFigures& figures);
Json object_of(const NamedFigures& figures);

}  // namespace assay::report
