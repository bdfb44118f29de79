// Strict parsing of untrusted, possibly hand-written JSON. Text that is too long or too deep,
// duplicate keys and syntax errors throw an Error with the position.
#pragma once

#include <string>
#include <string_view>

#include "report/json_parts.h"

namespace assay::store {

constexpr std::size_t kLargestStrictJson = std::size_t{4} << 20;  // bytes

report::Json strict_json(std::string_view text, const std::string& file,
                         std::size_t largest = kLargestStrictJson);

}  // namespace assay::store
