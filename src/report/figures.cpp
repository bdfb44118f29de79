#include "report/figures.h"

#include <fmt/format.h>

#include "base/text.h"

namespace assay {

std::string binary_text(std::int64_t bytes) {
  return with_binary_unit(static_cast<double>(bytes));
}

std::string percent_text(double share) {
  return share == 0.0 ? "-" : fmt::format("{:.1f}%", 100.0 * share);
}

int decimals_for(double largest_ms) {
  return largest_ms >= 1000.0 ? 1 : largest_ms >= 100.0 ? 2 : largest_ms >= 1.0 ? 3 : 5;
}

}  // namespace assay
