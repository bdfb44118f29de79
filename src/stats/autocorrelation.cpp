#include "stats/autocorrelation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <vector>

#include "stats/order_statistics.h"

namespace assay::stats {

namespace {

constexpr std::size_t kFewestSamples =
    8;  // with fewer, dependence cannot be distinguished from chance
constexpr std::size_t kHighestOrder = 20;
constexpr std::size_t kLongestResponse = 500;
constexpr std::size_t kBatches = 1000;

double sum_of_products(std::span<const double> series, std::size_t lag) {
  double sum = 0;
  for (std::size_t i = lag; i < series.size(); ++i) sum += series[i] * series[i - lag];
  return sum;
}

// At lags 0 to `longest`; empty for a series that never moves.
std::vector<double> autocorrelations(std::span<const double> series, std::size_t longest) {
  const double power = sum_of_products(series, 0);
  if (!(power > 0)) return {};
  std::vector<double> correlations(longest + 1);
  for (std::size_t lag = 0; lag <= longest; ++lag) {
    correlations[lag] = sum_of_products(series, lag) / power;
  }
  return correlations;
}

// One step of Levinson's recursion: from the best model of order p - 1 to that of order p.
// Returns by what factor the unexplained variance shrinks.
double extend_model(std::vector<double>& model, std::span<const double> correlations,
                    double unexplained) {
  const std::size_t order = model.size() + 1;
  double missing = correlations[order];
  for (std::size_t i = 0; i < model.size(); ++i) missing -= model[i] * correlations[order - 1 - i];
  const double reflection = missing / unexplained;
  const std::vector<double> before = model;
  for (std::size_t i = 0; i < before.size(); ++i) {
    model[i] -= reflection * before[before.size() - 1 - i];
  }
  model.push_back(reflection);
  return 1 - reflection * reflection;
}

// Coefficients of the autoregressive model with the smallest Akaike criterion; none if order 0
// wins.
std::vector<double> fit_autoregression(std::span<const double> series) {
  const auto correlations = autocorrelations(series, std::min(kHighestOrder, series.size() / 5));
  std::vector<double> model;
  std::vector<double> best;
  double unexplained = 1;
  double smallest = 0;
  for (std::size_t order = 1; order < correlations.size(); ++order) {
    unexplained *= extend_model(model, correlations, unexplained);
    if (!(unexplained > 0)) break;
    const double criterion =
        static_cast<double>(series.size()) * std::log(unexplained) + 2 * static_cast<double>(order);
    if (criterion >= smallest) continue;
    smallest = criterion;
    best = model;
  }
  return best;
}

// Taking out a mean or a line takes slow movement with it, so the fitted persistence comes out low,
// by (1 + 4 s) / n for a mean (Marriott and Pope 1954, with Yule and Walker's own bias).
void correct_persistence(std::vector<double>& model, std::size_t samples, int fitted) {
  double persistence = 0;
  for (const double coefficient : model) persistence += coefficient;
  if (!(persistence > 0)) return;
  const auto count = static_cast<double>(samples);
  const double raised = persistence + fitted * (1 + 4 * persistence) / count;
  const double corrected = std::min(raised, std::max(persistence, 1 - 2 / count));
  for (double& coefficient : model) coefficient *= corrected / persistence;
}

// What one shock leaves behind, step by step, until it has died away.
std::vector<double> response_of(std::span<const double> model) {
  std::vector<double> response = {1};
  double recent = 1;
  while (response.size() < kLongestResponse && recent > 1e-4) {
    double next = 0;
    const std::size_t reach = std::min(model.size(), response.size());
    for (std::size_t i = 0; i < reach; ++i) next += model[i] * response[response.size() - 1 - i];
    response.push_back(next);
    recent = 0;
    for (std::size_t i = 0; i <= reach; ++i) {
      recent = std::max(recent, std::abs(response[response.size() - 1 - i]));
    }
  }
  return response;
}

double as_is(double correlation) {
  return correlation;
}

// From the correlation of ranks to that of "above or below the median". Both follow from the
// correlation r of an underlying normal series: (6/pi) asin(r/2) and (2/pi) asin(r).
double as_sides_of_the_median(double rank_correlation) {
  const double normal = 2 * std::sin(std::numbers::pi * rank_correlation / 6);
  return 2 / std::numbers::pi * std::asin(std::clamp(normal, -1.0, 1.0));
}

template <typename Translate>
double correlation_time(std::span<const double> series, int fitted, Translate translate) {
  if (series.size() < kFewestSamples) return 1;
  auto model = fit_autoregression(series);
  if (model.empty()) return 1;
  correct_persistence(model, series.size(), fitted);
  const auto response = response_of(model);
  const double power = sum_of_products(response, 0);
  double time = 1;
  for (std::size_t lag = 1; lag < response.size(); ++lag) {
    time += 2 * translate(sum_of_products(response, lag) / power);
  }
  return std::max(1.0, time);
}

// The same from means over batches: sees slower changes than any model of single samples.
double slow_correlation_time(std::span<const double> samples, double centre) {
  const std::size_t length = samples.size() / kBatches;
  std::vector<double> sides(kBatches);
  for (std::size_t i = 0; i < kBatches * length; ++i) {
    const int side = (samples[i] > centre) - (samples[i] < centre);
    sides[i / length] += side / static_cast<double>(length);
  }
  const auto batches = moments(sides);
  for (double& side : sides) side -= batches.mean;
  // A side is +1 or -1, so a single one has variance 1.
  const double variance = batches.standard_deviation * batches.standard_deviation;
  return static_cast<double>(length) * variance * correlation_time(sides, 1, as_is);
}

}  // namespace

double correlation_time_of_mean(std::span<const double> series, int fitted) {
  return correlation_time(series, fitted, as_is);
}

double correlation_time_of_median(std::span<const double> samples) {
  const double time = correlation_time(centred_ranks(samples), 1, as_sides_of_the_median);
  if (samples.size() < 4 * kBatches) return time;
  return std::max(time, slow_correlation_time(samples, median(samples)));
}

}  // namespace assay::stats
