// The heading of every report, and the lines around tables.
#pragma once

#include <string>
#include <string_view>

#include "assay/count.h"

namespace assay::report {

// The model's name, opset, hash and inputs.
std::string headline(const ModelSummary& model);
// The same with all inputs in one line.
std::string short_headline(const ModelSummary& model);

// "memory       61.2 MiB…", continued lines indented; nothing for an empty text.
std::string labelled(std::string_view label, std::string_view text);

// Wrapped at spaces to the table's width, with a newline at the end.
std::string wrapped(std::string_view text, std::size_t indent = 0);

}  // namespace assay::report
