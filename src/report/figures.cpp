#include "report/figures.h"

#include <fmt/core.h>

#include "base/text.h"

namespace assay::report {

std::string binary_text(std::int64_t bytes) {
  return with_binary_unit(static_cast<double>(bytes));
}

std::string percent_text(double share) {
  return share == 0.0 ? "-" : fmt::format("{:.1f}%", 100.0 * share);
}

std::string any_rate_text(std::optional<double> number) {
  if (!number) return "-";
  const bool is_plain = *number >= 1 && *number < 1e6;
  return is_plain ? rate_text(number) : fmt::format("{:.3g}", *number);
}

std::string team_text(int threads) {
  if (threads == 0) return "the GPU";
  return fmt::format("{} {}", threads, threads == 1 ? "thread" : "threads");
}

std::string joules_text(double joules) {
  return joules < 0.9995 ? fmt::format("{:.3g} mJ", 1000 * joules)
                         : fmt::format("{:.3g} J", joules);
}

int decimals_for(double largest_ms) {
  return largest_ms >= 1000.0 ? 1 : largest_ms >= 100.0 ? 2 : largest_ms >= 1.0 ? 3 : 5;
}

}  // namespace assay::report
