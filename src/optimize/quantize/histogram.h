// How often numbers of each size occur, in a fixed number of bins however far they spread: when one
// lies outside, bins are merged in pairs and become twice as wide.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace assay::optimize {

class Histogram {
 public:
  static constexpr std::size_t kBins = 2048;

  // Finite numbers, none below `least` or above `greatest`.
  void add(std::span<const float> numbers, float least, float greatest);

  bool is_empty() const { return counts_.empty(); }
  std::span<const std::uint64_t> counts() const { return counts_; }  // kBins, or none
  double bin_width() const { return width_; }
  double lower_edge(std::size_t bin) const {
    return first_edge_ + width_ * static_cast<double>(bin);
  }
  double middle(std::size_t bin) const { return lower_edge(bin) + width_ / 2; }
  std::uint64_t total() const;
  // The number below which this fraction of all numbers lies.
  double quantile(double fraction) const;

 private:
  void begin(float least, float greatest);
  void widen_to(double least, double greatest);
  void double_width(bool downwards);

  std::vector<std::uint64_t> counts_;
  double first_edge_ = 0;
  double width_ = 0;
};

}  // namespace assay::optimize
