#include "kernels/folding.h"

#include <algorithm>
#include <numeric>

namespace assay::kernels {

namespace {

// The axes to fold; nothing when the op is to do nothing.
std::optional<std::vector<std::size_t>> folded_axes(const KernelCall& call, std::size_t rank) {
  const auto axes = axes_of(call, 1);
  if (axes && !axes->empty()) {
    auto chosen = normalized_axes(*axes, rank);
    if (!chosen) call.fail("axes {} do not fit rank {}", join_dims(*axes), rank);
    return chosen;
  }
  if (call.node.int_or("noop_with_empty_axes", 0) != 0) return std::nullopt;
  std::vector<std::size_t> all(rank);
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

Dims without_axes(const Dims& dims, const std::vector<std::size_t>& axes, bool keeps) {
  Dims result;
  for (std::size_t axis = 0; axis < dims.size(); ++axis) {
    const bool is_folded = std::ranges::find(axes, axis) != axes.end();
    if (!is_folded)
      result.push_back(dims[axis]);
    else if (keeps)
      result.push_back(1);
  }
  return result;
}

}  // namespace

Folding folding_along(const KernelCall& call, const Dims& dims,
                      const std::vector<std::size_t>& axes, bool keeps_axes) {
  Folding folding;
  folding.dims = without_axes(dims, axes, keeps_axes);
  // Folding no axis takes every element as it is; a size-1 axis among the folded repeats as well.
  folding.strides = broadcast_strides(without_axes(dims, axes, true), dims);
  const auto count = checked_product(folding.dims);
  if (!count) call.fail("the result is too large");
  call.need_memory(*count);
  folding.results = static_cast<std::size_t>(*count);
  return folding;
}

std::optional<Folding> folding_of(const KernelCall& call) {
  const Dims& dims = call.input(0).dims();
  const auto axes = folded_axes(call, dims.size());
  if (!axes) return std::nullopt;
  return folding_along(call, dims, *axes, call.node.int_or("keepdims", 1) != 0);
}

}  // namespace assay::kernels
