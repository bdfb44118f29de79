#include <algorithm>
#include <cmath>

#include "assay/sweep_result.h"

namespace assay {

namespace {

struct Candidate {
  std::size_t row = 0;
  double accuracy = 0;
  double cost = 0;
};

double cost_of(const PerfMetrics& metrics, ParetoCost cost, bool is_energy_measured) {
  switch (cost) {
    case ParetoCost::Latency:
      return metrics.latency_ms;
    case ParetoCost::Energy:
      return is_energy_measured ? *metrics.energy_measured_j : metrics.energy_proxy_j;
    case ParetoCost::Memory:
      return metrics.memory_mb;
  }
  return 0;
}

std::vector<Candidate> candidates_of(const std::vector<SweepRow>& rows, ParetoCost cost,
                                     bool use_ci) {
  std::vector<Candidate> candidates;
  const auto costs = pareto_costs(rows, cost);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].accepted || !costs[i]) continue;
    const PerfMetrics& metrics = *rows[i].metrics;
    const Candidate candidate{.row = i,
                              .accuracy = use_ci ? metrics.accuracy_ci95_low : metrics.accuracy,
                              .cost = *costs[i]};
    if (std::isfinite(candidate.accuracy) && std::isfinite(candidate.cost)) {
      candidates.push_back(candidate);
    }
  }
  return candidates;
}

bool is_before(const Candidate& a, const Candidate& b) {
  return a.cost != b.cost ? a.cost < b.cost : a.accuracy > b.accuracy;
}

}  // namespace

bool has_measured_energy(const std::vector<SweepRow>& rows) {
  const auto is_measured = [](const SweepRow& row) {
    return row.metrics && row.metrics->energy_measured_j;
  };
  const auto has_none = [&](const SweepRow& row) { return row.metrics && !is_measured(row); };
  return std::ranges::any_of(rows, is_measured) && std::ranges::none_of(rows, has_none);
}

std::vector<std::optional<double>> pareto_costs(const std::vector<SweepRow>& rows,
                                                ParetoCost cost) {
  const bool is_energy_measured = has_measured_energy(rows);
  std::vector<std::optional<double>> costs(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].metrics) costs[i] = cost_of(*rows[i].metrics, cost, is_energy_measured);
  }
  return costs;
}

// Cheapest first: a version is on the frontier if it is more accurate than all cheaper ones. Equal
// versions are all on it.
std::vector<std::size_t> pareto_frontier(const std::vector<SweepRow>& rows, ParetoCost cost,
                                         bool use_ci) {
  std::vector<Candidate> candidates = candidates_of(rows, cost, use_ci);
  std::ranges::stable_sort(candidates, is_before);
  std::vector<std::size_t> frontier;
  const Candidate* last = nullptr;
  for (const Candidate& candidate : candidates) {
    const bool is_equal =
        last != nullptr && candidate.accuracy == last->accuracy && candidate.cost == last->cost;
    if (last != nullptr && candidate.accuracy <= last->accuracy && !is_equal) continue;
    frontier.push_back(candidate.row);
    last = &candidate;
  }
  return frontier;
}

}  // namespace assay
