// Lanes: the elements along one axis of a tensor, or along all axes from one on, at fixed other
// indices. Softmax and the norms work on one lane at a time.
#pragma once

#include <vector>

#include "base/checked.h"
#include "kernels/shape_math.h"

namespace assay::kernels {

struct Lanes {
  std::int64_t outer = 1;   // number of outer indices
  std::int64_t length = 1;  // elements of a lane
  std::int64_t inner = 1;   // number of inner indices; also the stride between elements
};

template <typename T>
struct Lane {
  T* first = nullptr;
  std::int64_t length = 0;
  std::int64_t step = 1;

  T& operator[](std::int64_t i) const { return first[i * step]; }
};

// A tensor without elements has no lanes, however large its other dimensions are.
inline std::int64_t product_or_zero(std::span<const std::int64_t> dims) {
  return checked_product(dims).value_or(0);
}

inline Lanes lanes_along(std::span<const std::int64_t> dims, std::size_t axis) {
  return {product_or_zero(dims.first(axis)), dims[axis], product_or_zero(dims.subspan(axis + 1))};
}

// One lane for all axes from `axis` on.
inline Lanes lanes_from(std::span<const std::int64_t> dims, std::size_t axis) {
  return {product_or_zero(dims.first(axis)), product_or_zero(dims.subspan(axis)), 1};
}

// NaN counts as greater than every number.
inline double greatest_of(const Lane<double>& lane) {
  double greatest = lane[0];
  for (std::int64_t i = 1; i < lane.length; ++i) {
    if (lane[i] > greatest || lane[i] != lane[i]) greatest = lane[i];
  }
  return greatest;
}

// Softmax of one lane; in softmax.cpp.
void soften(Lane<double> lane);

// Calls `visit(lane)` for every lane of `values` that has elements.
template <typename T, typename Visit>
void for_each_lane(std::vector<T>& values, const Lanes& lanes, Visit visit) {
  if (values.empty()) return;
  for (std::int64_t outer = 0; outer < lanes.outer; ++outer) {
    for (std::int64_t inner = 0; inner < lanes.inner; ++inner) {
      T* first = values.data() + outer * lanes.length * lanes.inner + inner;
      visit(Lane<T>{first, lanes.length, lanes.inner});
    }
  }
}

}  // namespace assay::kernels
