#include "stats/steadiness.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "stats/autocorrelation.h"
#include "stats/order_statistics.h"

namespace assay::stats {

namespace {

constexpr std::size_t kFewestForDrift = 40;
constexpr std::size_t kSlopeBlocks = 24;
// 1 % critical values: of a normal, and of the largest excursion of a Brownian bridge (Kolmogorov).
constexpr double kTrendScore = 2.576;
constexpr double kExcursion = 1.628;

// A model of the ranks, and what it leaves unexplained.
struct Fit {
  double score = 0;  // in units of its critical value: above 1 is significant
  double squares = 0;
  std::size_t position = 0;
};

double sum_of_squares(std::span<const double> series) {
  return std::inner_product(series.begin(), series.end(), series.begin(), 0.0);
}

// With few independent samples, the correlation is uncertain: require a larger change.
double significance(double statistic, double critical, double correlation_time, double count) {
  const double effective = count / correlation_time;
  const double caution = correlation_time > 1 ? 1 + 3 / effective : 1;
  return statistic / std::sqrt(correlation_time) / (critical * caution);
}

Fit fit_line(std::vector<double> ranks) {
  const auto count = static_cast<double>(ranks.size());
  double product = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    product += ranks[i] * (static_cast<double>(i) - (count - 1) / 2);
  }
  const double time_squares = count * (count * count - 1) / 12;
  const double slope = product / time_squares;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    ranks[i] -= slope * (static_cast<double>(i) - (count - 1) / 2);
  }
  Fit fit;
  fit.squares = sum_of_squares(ranks);
  const double error = std::sqrt(fit.squares / (count - 2) / time_squares);
  const double statistic = error > 0 ? std::abs(slope) / error : 1e9;
  fit.score = significance(statistic, kTrendScore, correlation_time_of_mean(ranks, 2), count);
  return fit;
}

struct Excursion {
  double size = 0;
  std::size_t position = 1;
};

// Where the running sum of the ranks, which ends at 0, is farthest from 0. A level lasts for a
// tenth of the samples at least: a few deviating samples at either end are outliers.
Excursion farthest_excursion(std::span<const double> ranks) {
  const std::size_t shortest = ranks.size() / 10;
  Excursion farthest;
  double sum = 0;
  for (std::size_t i = 0; i < ranks.size() - shortest; ++i) {
    sum += ranks[i];
    const bool is_farther = i + 1 >= shortest && std::abs(sum) > farthest.size;
    if (is_farther) farthest = {std::abs(sum), i + 1};
  }
  return farthest;
}

void take_out_mean(std::span<double> part) {
  const double mean = moments(part).mean;
  for (double& value : part) value -= mean;
}

Fit fit_step(std::vector<double> ranks) {
  const auto count = static_cast<double>(ranks.size());
  const Excursion excursion = farthest_excursion(ranks);
  Fit fit;
  fit.position = excursion.position;
  const std::span<double> all(ranks);
  take_out_mean(all.first(fit.position));
  take_out_mean(all.subspan(fit.position));
  fit.squares = sum_of_squares(ranks);
  const double deviation = std::sqrt(fit.squares / (count - 2));
  const double statistic = deviation > 0 ? excursion.size / deviation / std::sqrt(count) : 1e9;
  // Two levels and a position chosen to suit them.
  fit.score = significance(statistic, kExcursion, correlation_time_of_mean(ranks, 4), count);
  return fit;
}

// Theil and Sen's slope through the medians of blocks: the median of all slopes between two.
double change_along_line(std::span<const double> samples) {
  const std::size_t blocks = std::min(kSlopeBlocks, samples.size() / 4);
  std::vector<double> medians;
  for (std::size_t block = 0; block < blocks; ++block) {
    const std::size_t first = block * samples.size() / blocks;
    const std::size_t end = (block + 1) * samples.size() / blocks;
    medians.push_back(median(samples.subspan(first, end - first)));
  }
  std::vector<double> slopes;
  for (std::size_t i = 0; i < blocks; ++i) {
    for (std::size_t j = i + 1; j < blocks; ++j) {
      slopes.push_back((medians[j] - medians[i]) / static_cast<double>(j - i));
    }
  }
  const double change = median(slopes) * static_cast<double>(blocks);
  const double start = median(samples) - change / 2;
  return start > 0 ? change / start : 0;
}

double change_at_step(std::span<const double> samples, std::size_t position) {
  const double before = median(samples.first(position));
  const double after = median(samples.subspan(position));
  return before > 0 ? after / before - 1 : 0;
}

// A step has its position to choose freely, so it must explain clearly more than a line.
bool is_rather_a_step(const Fit& line, const Fit& step, double count) {
  return line.squares > step.squares * std::exp(2 * std::log(count) / count);
}

}  // namespace

SteadinessTest test_steadiness(std::span<const double> samples, double smallest_change) {
  if (samples.size() < kFewestForDrift) return {};
  const auto ranks = centred_ranks(samples);
  if (!(sum_of_squares(ranks) > 0)) return {};
  const Fit line = fit_line(ranks);
  const Fit step = fit_step(ranks);
  if (std::max(line.score, step.score) <= 1) return {};

  SteadinessTest test;
  if (is_rather_a_step(line, step, static_cast<double>(samples.size()))) {
    test = {Steadiness::LevelChange, change_at_step(samples, step.position), step.position};
  } else {
    test = {Steadiness::Drift, change_along_line(samples), 0};
  }
  return std::abs(test.relative_change) < smallest_change ? SteadinessTest{} : test;
}

}  // namespace assay::stats
