#include "execute/cpu/kernels/resize_passes.h"

#include <algorithm>
#include <numeric>

#include "base/checked.h"
#include "execute/cpu/simd/simd.h"
#include "kernels/lanes.h"

namespace assay::cpu {

using kernels::Lanes;
using kernels::lanes_along;
using kernels::Tap;
using kernels::Taps;

ResizePass::ResizePass(std::int64_t outer, std::int64_t from, std::int64_t inner,
                       const std::vector<Taps>& taps)
    : outer_(outer), from_(from), to_(static_cast<std::int64_t>(taps.size())), inner_(inner) {
  for (const Taps& some : taps) {
    for (const Tap& tap : some) add(tap, &tap == &some.front());
    ends_.push_back(runs_.size());
  }
  const auto has_as_many = [&](const Taps& some) { return some.size() == taps.front().size(); };
  if (!taps.empty() && std::ranges::all_of(taps, has_as_many)) taps_each_ = taps.front().size();
}

void ResizePass::add(const Tap& tap, bool begins) {
  const bool goes_on =
      !begins && runs_.back().first + static_cast<std::int64_t>(runs_.back().count) == tap.index;
  if (!goes_on) runs_.push_back({.first = tap.index, .count = 0, .weights = weights_.size()});
  ++runs_.back().count;
  weights_.push_back(static_cast<float>(tap.weight));
  indices_.push_back(tap.index);
}

void ResizePass::sum_rows(const float* in, float* out, std::size_t element) const {
  const auto width = static_cast<std::size_t>(inner_);
  std::fill_n(out, width, 0.0f);
  for (std::size_t i = element == 0 ? 0 : ends_[element - 1]; i < ends_[element]; ++i) {
    const Run& run = runs_[i];
    simd_for(width).add_vector_matrix(weights_.data() + run.weights, run.count,
                                      in + run.first * inner_, width, out, width);
  }
}

float ResizePass::sum_numbers(const float* in, std::size_t element) const {
  float sum = 0;
  for (std::size_t i = element == 0 ? 0 : ends_[element - 1]; i < ends_[element]; ++i) {
    const float* numbers = in + runs_[i].first;
    const float* weights = weights_.data() + runs_[i].weights;
    for (std::size_t j = 0; j < runs_[i].count; ++j) sum += weights[j] * numbers[j];
  }
  return sum;
}

// Nearest elements and linear interpolation: every element is made of as many others.
void ResizePass::sum_line(const float* in, float* out) const {
  const float* weight = weights_.data();
  const std::int64_t* index = indices_.data();
  for (std::int64_t element = 0; element < to_; ++element) {
    float sum = weight[0] * in[index[0]];
    for (std::size_t tap = 1; tap < taps_each_; ++tap) sum += weight[tap] * in[index[tap]];
    out[element] = sum;
    weight += taps_each_;
    index += taps_each_;
  }
}

void ResizePass::run(const float* in, float* out) const {
  if (inner_ == 1 && taps_each_ > 0) {
    for (std::int64_t outer = 0; outer < outer_; ++outer)
      sum_line(in + outer * from_, out + outer * to_);
    return;
  }
  for (std::int64_t outer = 0; outer < outer_; ++outer) {
    for (std::size_t element = 0; element < ends_.size(); ++element) {
      if (inner_ == 1) {
        *out = sum_numbers(in, element);
      } else {
        sum_rows(in, out, element);
      }
      out += inner_;
    }
    in += from_ * inner_;
  }
}

std::int64_t ResizePass::flops() const {
  const auto taps = static_cast<std::int64_t>(weights_.size());
  return saturating_multiply(2 * outer_, saturating_multiply(taps, inner_));
}

std::vector<Taps> reversed_taps(const std::vector<Taps>& taps, std::int64_t input) {
  std::vector<Taps> reversed(static_cast<std::size_t>(input));
  for (std::size_t i = 0; i < taps.size(); ++i) {
    for (const Tap& tap : taps[i]) {
      reversed[static_cast<std::size_t>(tap.index)].push_back(
          {static_cast<std::int64_t>(i), tap.weight});
    }
  }
  return reversed;
}

namespace {

// Axes that shrink come first and those that grow last, so that what lies between two passes is
// small. Axes that change alike: outer ones first if the tensor shrinks, inner ones if it grows.
std::vector<std::size_t> order_of_axes(const Dims& from,
                                       const std::vector<std::vector<Taps>>& taps) {
  std::vector<std::size_t> axes;
  double growth = 1;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (taps[axis].empty()) continue;
    axes.push_back(axis);
    growth *= static_cast<double>(taps[axis].size()) / static_cast<double>(from[axis]);
  }
  if (growth > 1) std::ranges::reverse(axes);
  std::ranges::stable_sort(axes, {}, [&](std::size_t axis) {
    return static_cast<double>(taps[axis].size()) / static_cast<double>(from[axis]);
  });
  return axes;
}

}  // namespace

std::vector<ResizePass> resize_passes(std::vector<std::int64_t> from,
                                      const std::vector<std::vector<Taps>>& taps) {
  std::vector<ResizePass> passes;
  for (const std::size_t axis : order_of_axes(from, taps)) {
    const Lanes lanes = lanes_along(from, axis);
    passes.emplace_back(lanes.outer, lanes.length, lanes.inner, taps[axis]);
    from[axis] = static_cast<std::int64_t>(taps[axis].size());
  }
  return passes;
}

}  // namespace assay::cpu
