#include "profile/step_times.h"

#include <algorithm>

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

TypicalRun StepTimes::typical(std::span<const double> samples_ms) const {
  const std::size_t width = sums_.size();
  std::vector<std::size_t> rows;  // of the samples kept
  for (std::size_t sample = 0; sample < samples_ms.size(); sample += stride_) {
    rows.push_back(sample / stride_);
  }
  std::ranges::stable_sort(rows, {}, [&](std::size_t row) { return samples_ms[row * stride_]; });
  const std::size_t quarter = rows.size() / 4;
  TypicalRun typical{.steps_ms = std::vector<double>(width)};
  const auto count = static_cast<double>(rows.size() - 2 * quarter);
  for (std::size_t i = quarter; i + quarter < rows.size(); ++i) {
    typical.run_ms += samples_ms[rows[i] * stride_] / count;
    for (std::size_t step = 0; step < width && (rows[i] + 1) * width <= kept_.size(); ++step) {
      typical.steps_ms[step] += kept_[rows[i] * width + step] / count;
    }
  }
  return typical;
}

}  // namespace assay::profile
