// One line of comma-separated values, quoted as RFC 4180 asks.
#pragma once

#include <span>
#include <string>

namespace assay {

std::string csv_line(std::span<const std::string> cells);

}  // namespace assay
