// Walks two tensors as if both were broadcast to their common dimensions.
#pragma once

#include "base/checked.h"
#include "base/text.h"
#include "kernels/elements.h"
#include "kernels/kernel.h"
#include "kernels/shape_math.h"

namespace assay {

class Broadcast {
 public:
  Broadcast(const KernelCall& call, const Dims& a, const Dims& b) {
    const auto common = broadcast_dims(a, b);
    if (!common) call.fail("shapes {} and {} do not broadcast", join_dims(a), join_dims(b));
    dims_ = *common;
    const auto count = checked_product(dims_);
    if (!count) call.fail("the result {} is too large", join_dims(dims_));
    elements_ = static_cast<std::size_t>(*count);
    left_ = broadcast_strides(a, dims_);
    right_ = broadcast_strides(b, dims_);
  }

  const Dims& dims() const { return dims_; }
  std::size_t elements() const { return elements_; }

  // Calls `visit(result position, position in a, position in b)`.
  template <typename Visit>
  void for_each(Visit visit) const {
    for_each_index(dims_, [&](std::span<const std::int64_t> index, std::size_t position) {
      visit(position, static_cast<std::size_t>(offset_of(index, left_)),
            static_cast<std::size_t>(offset_of(index, right_)));
    });
  }

 private:
  Dims dims_;
  Dims left_;
  Dims right_;
  std::size_t elements_ = 0;
};

}  // namespace assay
