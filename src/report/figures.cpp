#include "report/figures.h"

#include <fmt/format.h>

#include <cmath>

#include "base/text.h"

namespace assay {

namespace {

// Four digits: as many as a measurement within one percent can mean.
std::string four_digits(double number) {
  const int decimals = number < 9.9995 ? 3 : number < 99.995 ? 2 : number < 999.95 ? 1 : 0;
  return fmt::format("{:.{}f}", number, decimals);
}

}  // namespace

std::string binary_text(std::int64_t bytes) {
  return with_binary_unit(static_cast<double>(bytes));
}

std::string percent_text(double share) {
  return share == 0.0 ? "-" : fmt::format("{:.1f}%", 100.0 * share);
}

std::string rate_text(std::optional<double> number) {
  if (!number) return "-";
  if (*number >= 999.5) return with_thousands(std::llround(std::min(*number, 1e15)));
  const int decimals = *number < 9.995 ? 2 : *number < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f}", *number, decimals);
}

std::string any_rate_text(std::optional<double> number) {
  if (!number) return "-";
  const bool is_plain = *number >= 1 && *number < 1e6;
  return is_plain ? rate_text(number) : fmt::format("{:.3g}", *number);
}

TimeUnit time_unit(double milliseconds) {
  if (milliseconds < 0.9995) return {0.001, "µs"};
  if (milliseconds < 9999.5) return {1, "ms"};
  return {1000, "s"};
}

std::string time_in(TimeUnit unit, double milliseconds) {
  return four_digits(milliseconds / unit.milliseconds);
}

std::string duration_text(double milliseconds) {
  const TimeUnit unit = time_unit(milliseconds);
  return time_in(unit, milliseconds) + " " + unit.name;
}

int decimals_for(double largest_ms) {
  return largest_ms >= 1000.0 ? 1 : largest_ms >= 100.0 ? 2 : largest_ms >= 1.0 ? 3 : 5;
}

}  // namespace assay
