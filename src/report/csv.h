// One line of comma-separated values, quoted as RFC 4180 asks. Text that a spreadsheet would run as
// a formula gets an apostrophe before it; numbers stay as they are.
#pragma once

#include <optional>
#include <span>
#include <string>

namespace assay::report {

std::string csv_line(std::span<const std::string> cells);
std::string csv_number(const std::optional<double>& value);  // six digits; empty for nothing

}  // namespace assay::report
