// Resizing by passes along one axis each, in the forward or backward pass: every element is a
// weighted sum of a few others; the weights are computed in advance.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/resize_taps.h"

namespace assay::cpu {

// A pass over elements [outer, from, inner] that yields [outer, to, inner].
class ResizePass {
 public:
  // `taps` has one entry for each of the `to` elements.
  ResizePass(std::int64_t outer, std::int64_t from, std::int64_t inner,
             const std::vector<kernels::Taps>& taps);

  void run(const float* in, float* out) const;
  std::int64_t operands() const { return outer_ * from_ * inner_; }
  std::int64_t results() const { return outer_ * to_ * inner_; }
  std::int64_t flops() const;

 private:
  // Elements side by side whose weights are, too.
  struct Run {
    std::int64_t first = 0;
    std::size_t count = 0;
    std::size_t weights = 0;
  };
  void add(const kernels::Tap& tap, bool begins);
  void sum_rows(const float* in, float* out, std::size_t element) const;
  float sum_numbers(const float* in, std::size_t element) const;
  void sum_line(const float* in, float* out) const;

  std::int64_t outer_ = 1;
  std::int64_t from_ = 1;
  std::int64_t to_ = 1;
  std::int64_t inner_ = 1;
  std::vector<Run> runs_;
  std::vector<std::size_t> ends_;      // of an element's runs
  std::vector<float> weights_;         // of all taps, element by element
  std::vector<std::int64_t> indices_;  // likewise
  std::size_t taps_each_ = 0;          // of every element; 0: some have more than others
};

// From the elements of a result to those it was made of: `input` of them.
std::vector<kernels::Taps> reversed_taps(const std::vector<kernels::Taps>& taps,
                                         std::int64_t input);

// The passes along all axes of a plane of dimensions `from`; an axis that stays as it is has no
// taps. The one order that touches the fewest elements is taken.
std::vector<ResizePass> resize_passes(std::vector<std::int64_t> from,
                                      const std::vector<std::vector<kernels::Taps>>& taps);

}  // namespace assay::cpu
