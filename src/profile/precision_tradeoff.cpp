#include "assay/precision_tradeoff.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace assay {

namespace {

using Rows = std::vector<PrecisionRow>;
using RowFigure = std::optional<double> PrecisionRow::*;

bool has_figure(const PrecisionRow& row, RowFigure figure) {
  return row.*figure && std::isfinite(*(row.*figure));
}

std::optional<double> mean(const Rows& rows, RowFigure figure) {
  double sum = 0;
  std::size_t count = 0;
  for (const PrecisionRow& row : rows) {
    if (!row.error.empty() || !has_figure(row, figure)) continue;
    sum += *(row.*figure);
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

PrecisionTradeoff tradeoff(const std::string& precision, const Rows& rows) {
  const auto accepted = std::ranges::count(rows, true, &PrecisionRow::accepted);
  return {.precision = precision,
          .accuracy_mean = mean(rows, &PrecisionRow::accuracy),
          .latency_ms_mean = mean(rows, &PrecisionRow::latency_ms),
          .memory_mb_mean = mean(rows, &PrecisionRow::memory_mb),
          .energy_proxy_j_mean = mean(rows, &PrecisionRow::energy_proxy_j),
          .accepted_ratio = static_cast<double>(accepted) / static_cast<double>(rows.size())};
}

}  // namespace

std::vector<PrecisionTradeoff> precision_tradeoff_table(const Rows& rows) {
  std::map<std::string, Rows> groups;  // equal latencies stay in the order of the names
  for (const PrecisionRow& row : rows) groups[row.precision].push_back(row);
  std::vector<PrecisionTradeoff> table;
  for (const auto& [precision, members] : groups) table.push_back(tradeoff(precision, members));
  std::ranges::stable_sort(table, {}, [](const PrecisionTradeoff& row) {
    return row.latency_ms_mean.value_or(std::numeric_limits<double>::infinity());
  });
  return table;
}

}  // namespace assay
