#include "profile/step_times.h"

#include <algorithm>
#include <numeric>

#include "stats/order_statistics.h"

namespace assay::profile {

void StepTimes::add(std::span<const std::int64_t> nanoseconds, std::size_t runs) {
  const bool is_kept = samples_ % stride_ == 0;
  ++samples_;
  const double scale = 1e-6 / static_cast<double>(std::max<std::size_t>(1, runs));
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    const double milliseconds =
        i < nanoseconds.size() ? static_cast<double>(nanoseconds[i]) * scale : 0.0;
    sums_[i] += milliseconds;
    if (is_kept) kept_.push_back(milliseconds);
  }
  if (kept_.size() > most_kept_) thin_out();
}

void StepTimes::thin_out() {
  const std::size_t width = sums_.size();
  const std::size_t rows = kept_.size() / width;
  if (rows < 2) return;
  for (std::size_t row = 0; row < rows; row += 2) {
    std::copy_n(kept_.begin() + static_cast<long>(row * width), width,
                kept_.begin() + static_cast<long>(row / 2 * width));
  }
  kept_.resize((rows + 1) / 2 * width);
  stride_ *= 2;
}

std::vector<double> StepTimes::means_ms() const {
  std::vector<double> means = sums_;
  for (double& mean : means) mean /= static_cast<double>(std::max<std::size_t>(1, samples_));
  return means;
}

std::vector<double> StepTimes::medians_ms() const {
  const std::size_t width = sums_.size();
  std::vector<double> medians(width);
  for (std::size_t step = 0; step < width && !kept_.empty(); ++step) {
    std::vector<double> times;
    for (std::size_t at = step; at < kept_.size(); at += width) times.push_back(kept_[at]);
    medians[step] = stats::median(times);
  }
  return medians;
}

// A twentieth of the samples kept on either side of the median, by rank: few enough that none was
// interrupted unless the median was, enough to average out what differs from run to run.
std::vector<std::size_t> StepTimes::rows_next_to(std::span<const double> samples_ms,
                                                 double median_ms) const {
  constexpr std::ptrdiff_t kOneIn = 20;
  const std::size_t width = sums_.size();
  std::vector<std::size_t> rows;
  for (std::size_t sample = 0; sample < samples_ms.size(); sample += stride_) {
    const std::size_t row = sample / stride_;
    if ((row + 1) * width <= kept_.size()) rows.push_back(row);
  }
  const auto time_of = [&](std::size_t row) { return samples_ms[row * stride_]; };
  std::ranges::stable_sort(rows, {}, time_of);
  const auto equal = std::ranges::equal_range(rows, median_ms, {}, time_of);
  const auto reach = std::max<std::ptrdiff_t>(1, std::ssize(rows) / kOneIn);
  if (std::ssize(equal) > 2 * reach) return {equal.begin(), equal.end()};
  const auto first = equal.begin() - std::min(reach, equal.begin() - rows.begin());
  const auto end = equal.end() + std::min(reach, rows.end() - equal.end());
  return {first, end};
}

MedianRun StepTimes::at_median(std::span<const double> samples_ms, double median_ms) const {
  const std::size_t width = sums_.size();
  const auto rows = rows_next_to(samples_ms, median_ms);
  MedianRun run{.run_ms = median_ms, .steps_ms = std::vector<double>(width)};
  run.between_steps_ms = median_ms;
  for (const std::size_t row : rows) {
    const auto steps = std::span(kept_).subspan(row * width, width);
    const double steps_ms = std::accumulate(steps.begin(), steps.end(), 0.0);
    const double whole_ms = std::max(samples_ms[row * stride_], steps_ms);
    if (!(whole_ms > 0)) continue;
    const double scale = median_ms / whole_ms / static_cast<double>(rows.size());
    for (std::size_t step = 0; step < width; ++step) run.steps_ms[step] += scale * steps[step];
    run.between_steps_ms -= scale * steps_ms;
  }
  run.between_steps_ms = std::max(0.0, run.between_steps_ms);  // rounding
  return run;
}

}  // namespace assay::profile
