// Figures as text for tables: "-" for nothing, always with the unit.
#pragma once

#include <cstdint>
#include <string>

#include "base/text.h"

namespace assay::report {

constexpr std::size_t kTableWidth = 80;

std::string binary_text(std::int64_t bytes);  // "44.6 MiB"
std::string percent_text(double share);       // "12.3%"
// Three digits of any number, small ones too: "0.0568", "1.2e-05".
std::string any_rate_text(std::optional<double> number);

// "4 threads"; "the GPU" for none.
std::string team_text(int threads);

std::string joules_text(double joules);  // "77.5 mJ", "2.31 J"

// Decimals for a column of milliseconds whose largest entry this is.
int decimals_for(double largest_ms);

}  // namespace assay::report
