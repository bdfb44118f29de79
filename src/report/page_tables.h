// A JSON document as plain HTML tables, for pages without charts.
#pragma once

#include <string>
#include <string_view>

#include "report/json_parts.h"

namespace assay::report {

std::string html_text(
    std::string_view text);  // with the characters escaped that HTML gives a meaning

// Objects as two columns, lists of objects as rows with a heading, other lists in one cell.
std::string html_tables(const Json& document);

}  // namespace assay::report
