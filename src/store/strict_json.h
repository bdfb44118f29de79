// JSON that a person may have written, or anything else: too much of it, too deep, a key given
// twice or a slip of the pen is an Error with the place.
#pragma once

#include <string>
#include <string_view>

#include "report/json_parts.h"

namespace assay::store {

constexpr std::size_t kLargestStrictJson = std::size_t{4} << 20;  // bytes

report::Json strict_json(std::string_view text, const std::string& file);

}  // namespace assay::store
