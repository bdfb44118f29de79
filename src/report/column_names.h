// The columns of a table by the headings that it shows or the keys of its JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace assay::report {

struct ColumnName {
  const char* heading = "";  // "MACs", "time ms"
  const char* key = "";      // "macs", "time_ms"
};

// The position of the column with this heading or key; upper and lower case, spaces and signs do
// not matter. Otherwise an error that begins with `what` and suggests the nearest heading.
std::size_t find_column(std::string_view what, std::string_view word,
                        std::span<const ColumnName> columns);

}  // namespace assay::report
