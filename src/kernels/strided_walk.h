// Walks several tensors in step, each with strides of its own over common dimensions, in row-major
// order. Axes that can be walked as one are merged first, so that tensors of equal shapes, scalars
// and contiguous runs cost a plain loop.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/shape_math.h"

namespace assay::kernels {

template <std::size_t Count>
class StridedWalk {
 public:
  using Offsets = std::array<std::int64_t, Count>;

  StridedWalk(std::span<const std::int64_t> dims, const std::array<Dims, Count>& strides) {
    const bool is_empty = std::ranges::find(dims, std::int64_t{0}) != dims.end();
    for (std::size_t axis = 0; !is_empty && axis < dims.size(); ++axis) {
      Offsets own = {};
      for (std::size_t i = 0; i < Count; ++i) own[i] = strides[i][axis];
      add_axis(dims[axis], own);
    }
    if (dims_.empty()) add_axis(is_empty ? 0 : 1, {});
  }

  // Calls `visit(position, offsets)` for every element; `offsets` holds one number a tensor.
  template <typename Visit>
  void for_each(Visit visit) const {
    const auto length = static_cast<std::size_t>(dims_.back());
    for_each_run([&](std::size_t position, Offsets at) {
      const Offsets& steps = steps_.back();
      for (std::size_t i = 0; i < length; ++i) {
        visit(position + i, at);
        for (std::size_t tensor = 0; tensor < Count; ++tensor) at[tensor] += steps[tensor];
      }
    });
  }

  // Calls `visit(position, offsets)` for the start of every run along the innermost axis.
  template <typename Visit>
  void for_each_run(Visit visit) const {
    const auto length = static_cast<std::size_t>(dims_.back());
    if (length == 0) return;
    for_each_index(std::span(dims_).first(dims_.size() - 1),
                   [&](std::span<const std::int64_t> index, std::size_t row) {
                     Offsets at = {};
                     for (std::size_t axis = 0; axis < index.size(); ++axis) {
                       for (std::size_t i = 0; i < Count; ++i)
                         at[i] += index[axis] * steps_[axis][i];
                     }
                     visit(row * length, at);
                   });
  }

  std::int64_t run_length() const { return dims_.back(); }
  const Offsets& run_steps() const { return steps_.back(); }

 private:
  void add_axis(std::int64_t dim, const Offsets& steps) {
    if (!dims_.empty() && continues_last(dim, steps)) {
      dims_.back() *= dim;
      steps_.back() = steps;
      return;
    }
    dims_.push_back(dim);
    steps_.push_back(steps);
  }

  // A step of the axis before is as long as this whole axis, for every tensor.
  bool continues_last(std::int64_t dim, const Offsets& steps) const {
    for (std::size_t i = 0; i < Count; ++i) {
      if (dims_.back() != 1 && steps_.back()[i] != steps[i] * dim) return false;
    }
    return true;
  }

  Dims dims_;
  std::vector<Offsets> steps_;
};

}  // namespace assay::kernels
