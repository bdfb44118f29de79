// What each precision costs and gives, over all the variants of a sweep that use it.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace assay {

// One variant. It failed if it has an error or no figure at all.
struct PrecisionRow {
  std::string precision;
  std::optional<double> accuracy = std::nullopt;
  std::optional<double> latency_ms = std::nullopt;
  std::optional<double> memory_mb = std::nullopt;
  std::optional<double> energy_proxy_j = std::nullopt;
  bool accepted = false;
  std::string error = {};
};

// Means are over the variants that did not fail; `accepted_ratio` is over all of them.
struct PrecisionTradeoff {
  std::string precision;
  std::optional<double> accuracy_mean = std::nullopt;
  std::optional<double> latency_ms_mean = std::nullopt;
  std::optional<double> memory_mb_mean = std::nullopt;
  std::optional<double> energy_proxy_j_mean = std::nullopt;
  double accepted_ratio = 0;
};

// One entry a precision, the lowest mean latency first, those without one last. A figure that is
// not finite counts as missing.
std::vector<PrecisionTradeoff> precision_tradeoff_table(const std::vector<PrecisionRow>& rows);

}  // namespace assay
