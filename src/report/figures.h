// Figures as people read them in tables: "-" for nothing, units always beside the number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace assay {

constexpr std::size_t kTableWidth = 80;

std::string binary_text(std::int64_t bytes);          // "44.6 MiB"
std::string percent_text(double share);               // "12.3%"
std::string rate_text(std::optional<double> number);  // three digits: "0.12", "12.3", "4,567"
// As above, with three digits for small numbers too: "0.0568", "1.2e-05".
std::string any_rate_text(std::optional<double> number);
// The unit that suits a time, for several that stand side by side.
struct TimeUnit {
  double milliseconds = 1;
  const char* name = "ms";
};
TimeUnit time_unit(double milliseconds);
std::string time_in(TimeUnit unit, double milliseconds);  // "20.31", without the unit
// A time in the unit that suits it: "20.31 ms", "845 µs", "1.20 s".
std::string duration_text(double milliseconds);

// Decimals for a column of milliseconds whose largest entry this is.
int decimals_for(double largest_ms);

}  // namespace assay
