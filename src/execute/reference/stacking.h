// Tensors cut into slices along an axis and put together again, with the kernels that do so.
#pragma once

#include <span>
#include <vector>

#include "execute/reference/value_ops.h"

namespace assay::reference {

// The slice at `index` of `axis`, which is taken away.
Tensor slice_at(const ValueCall& call, const Tensor& tensor, std::int64_t axis, std::int64_t index);
// The slices, one at least, along a new axis.
Tensor stacked(const ValueCall& call, std::vector<Tensor> slices, std::int64_t axis);
Tensor joined(const ValueCall& call, std::vector<Tensor> parts, std::int64_t axis);
// Consecutive parts of the given lengths along `axis`.
std::vector<Tensor> parted(const ValueCall& call, const Tensor& tensor, std::int64_t axis,
                           std::span<const std::int64_t> lengths);
// No slices, stacked: as many dims as the type tells, none of them certain to be right.
Tensor empty_stack(const ValueCall& call, const ValueType& slice);

}  // namespace assay::reference
