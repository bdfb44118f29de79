// The times of a program's steps over many samples: exact means over all, and medians and the run
// at the median from a bounded number of them (every one at first, then every second, every fourth,
// …).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay::profile {

// The run whose whole time is the median: where its time goes is the mean over the samples whose
// whole time is next to the median, scaled to it. Parts sum to the whole.
struct MedianRun {
  double run_ms = 0;
  std::vector<double> steps_ms = {};
  double between_steps_ms = 0;  // below 0 only where steps were timed apart
};

class StepTimes {
 public:
  explicit StepTimes(std::size_t steps, std::size_t most_kept = std::size_t{1} << 21)
      : sums_(steps), most_kept_(most_kept) {}

  // One sample: the total time of its `runs` runs, by step.
  void add(std::span<const std::int64_t> nanoseconds, std::size_t runs);

  std::vector<double> means_ms() const;    // of one run; zeros before the first sample
  std::vector<double> medians_ms() const;  // likewise
  // `samples_ms` are the whole times of the samples that were added, `median_ms` is their median.
  MedianRun at_median(std::span<const double> samples_ms, double median_ms) const;

 private:
  void thin_out();
  std::vector<std::size_t> rows_next_to(std::span<const double> samples_ms, double median_ms) const;

  std::vector<double> sums_;  // of milliseconds per run, by step
  std::size_t samples_ = 0;
  std::vector<double> kept_;  // milliseconds per run, sample after sample
  std::size_t stride_ = 1;    // one sample in `stride_` is kept
  std::size_t most_kept_ = 0;
};

}  // namespace assay::profile
