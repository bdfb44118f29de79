// Walks two tensors as if both were broadcast to their common dimensions.
#pragma once

#include "base/checked.h"
#include "base/text.h"
#include "kernels/elements.h"
#include "kernels/kernel.h"
#include "kernels/strided_walk.h"

namespace assay::kernels {

class Broadcast {
 public:
  Broadcast(const KernelCall& call, const Dims& a, const Dims& b) {
    const auto common = broadcast_dims(a, b);
    if (!common) call.fail("shapes {} and {} do not broadcast", join_dims(a), join_dims(b));
    dims_ = *common;
    const auto count = checked_product(dims_);
    if (!count) call.fail("the result {} is too large", join_dims(dims_));
    call.need_memory(*count);  // of a byte each at least
    elements_ = static_cast<std::size_t>(*count);
    left_ = broadcast_strides(a, dims_);
    right_ = broadcast_strides(b, dims_);
  }

  const Dims& dims() const { return dims_; }
  std::size_t elements() const { return elements_; }

  // Calls `visit(result position, position in a, position in b)`.
  template <typename Visit>
  void for_each(Visit visit) const {
    const StridedWalk<2> walk(dims_, {left_, right_});
    walk.for_each([&](std::size_t position, const StridedWalk<2>::Offsets& at) {
      visit(position, static_cast<std::size_t>(at[0]), static_cast<std::size_t>(at[1]));
    });
  }

 private:
  Dims dims_;
  Dims left_;
  Dims right_;
  std::size_t elements_ = 0;
};

// How the second operand of an Add, Less and so on lies along the first: before opset 7 it might
// start at an `axis` of the first, after that it ends with it.
Dims operand_dims(const KernelCall& call, const Dims& first, const Dims& second);

// `Op{}(call, x, y)` of every pair of elements, which have the same type, as the result does.
template <typename Op>
Tensor combined(const KernelCall& call, const Tensor& a, const Tensor& b) {
  if (a.type() != b.type())
    call.fail("inputs have types {} and {}", name(a.type()), name(b.type()));
  const Broadcast pairs(call, a.dims(), operand_dims(call, a.dims(), b.dims()));
  return with_number_type(a.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto left = load<T>(a);
    const auto right = load<T>(b);
    std::vector<T> results(pairs.elements());
    pairs.for_each([&](std::size_t i, std::size_t l, std::size_t r) {
      results[i] = Op{}(call, left[l], right[r]);
    });
    return store<T>(a.type(), pairs.dims(), results);
  });
}

}  // namespace assay::kernels
