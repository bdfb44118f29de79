// How a reduction folds axes of its input into one element each.
#pragma once

#include "kernels/movement.h"

namespace assay::kernels {

struct Folding {
  Dims dims;     // of the result
  Dims strides;  // from an index of the input to a position of the result
  std::size_t results = 0;

  // Calls `visit(result position, input position)` for every element of the input.
  template <typename Visit>
  void for_each(const Dims& input, Visit visit) const {
    for_each_index(input, [&](std::span<const std::int64_t> index, std::size_t i) {
      visit(static_cast<std::size_t>(offset_of(index, strides)), i);
    });
  }
};

Folding folding_along(const KernelCall& call, const Dims& dims,
                      const std::vector<std::size_t>& axes, bool keeps_axes);
// As the node asks: by `axes`, `keepdims` and `noop_with_empty_axes`; nothing: the input is
// returned unchanged.
std::optional<Folding> folding_of(const KernelCall& call);

}  // namespace assay::kernels
