#include <cmath>

#include "assay/machine.h"
#include "stats/order_statistics.h"

namespace assay {

namespace {

// The 10 % quantile of chi-squared with `freedom` degrees (Wilson and Hilferty's approximation).
double low_chi_squared(double freedom) {
  constexpr double kTenPercent = -1.2816;  // of a standard normal
  const double part = 2 / (9 * freedom);
  return freedom * std::pow(1 - part + kTenPercent * std::sqrt(part), 3);
}

}  // namespace

std::optional<ProcessSpread> process_spread(const std::vector<double>& medians) {
  constexpr std::size_t kFewest = 3;
  if (medians.size() < kFewest) return std::nullopt;
  std::vector<double> logs;
  for (const double median : medians) {
    if (!(median > 0)) return std::nullopt;
    logs.push_back(std::log(median));
  }
  const double freedom = static_cast<double>(medians.size()) - 1;
  const double seen = stats::moments(logs).standard_deviation;
  return ProcessSpread{seen * std::sqrt(freedom / low_chi_squared(freedom)),
                       static_cast<int>(medians.size())};
}

}  // namespace assay
