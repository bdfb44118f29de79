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

  using Counts = std::vector<std::uint64_t>;  // of every bin; empty: nothing is counted

  // Finite numbers, none below `least` or above `greatest`.
  void add(std::span<const float> numbers, float least, float greatest);
  // The same in three steps, the second of which may run on several threads.
  void widen_to(float least, float greatest);
  void count(std::span<const float> numbers, Counts& counts) const;
  void add(const Counts& counts);

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
  void double_width(bool downwards);

  Counts counts_;
  double first_edge_ = 0;
  double width_ = 0;
};

}  // namespace assay::optimize
