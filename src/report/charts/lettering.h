// How wide text will be, and text made to fit. Without any font installed every width is 0.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/charts/canvas.h"

namespace assay::report {

double text_width(std::string_view text, const TextStyle& style);
// Shortened in the middle until it is no wider than `width`.
std::string fitted(std::string_view text, double width, const TextStyle& style);
// The same for several: different texts stay different.
std::vector<std::string> fitted_apart(std::span<const std::string> texts, double width,
                                      const TextStyle& style);
// Valid UTF-8 without control characters; other bytes are replaced.
std::string drawable(std::string_view text);

}  // namespace assay::report
