// The same elements under other dimensions: Identity, Reshape, Flatten, Squeeze, Unsqueeze.
#include <algorithm>

#include "kernels/families.h"
#include "kernels/movement.h"

namespace assay::kernels {

std::optional<Dims> axes_of(const KernelCall& call, std::size_t input) {
  if (const auto* axes = call.node.get<Dims>("axes")) return *axes;
  if (call.has(input)) return call.input(input).to_int64();
  return std::nullopt;
}

namespace {

std::vector<Tensor> identity(const KernelCall& call) {
  return {call.input(0)};
}

std::vector<Tensor> reshape(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const auto wanted = call.input(1).to_int64();
  const auto dims = reshaped_dims(input.dims(), wanted, call.node.int_or("allowzero", 0) != 0);
  if (!dims) call.fail("cannot reshape {} to {}", join_dims(input.dims()), join_dims(wanted));
  return {input.reshaped(*dims)};
}

std::vector<Tensor> flatten(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const auto rank = static_cast<std::int64_t>(input.dims().size());
  std::int64_t axis = call.node.int_or("axis", 1);
  if (axis < -rank || axis > rank) call.fail("axis {} is out of range for rank {}", axis, rank);
  if (axis < 0) axis += rank;
  const std::span<const std::int64_t> dims = input.dims();
  const auto rows = checked_product(dims.first(static_cast<std::size_t>(axis)));
  const auto columns = checked_product(dims.subspan(static_cast<std::size_t>(axis)));
  if (!rows || !columns) call.fail("{} is too large", join_dims(dims));
  return {input.reshaped({*rows, *columns})};
}

std::vector<Tensor> squeeze(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const auto axes = axes_of(call, 1);
  const auto chosen =
      axes ? normalized_axes(*axes, input.dims().size()) : std::vector<std::size_t>{};
  if (!chosen) call.fail("axes {} do not fit rank {}", join_dims(*axes), input.dims().size());
  Dims dims;
  for (std::size_t axis = 0; axis < input.dims().size(); ++axis) {
    const bool is_chosen =
        axes ? std::ranges::find(*chosen, axis) != chosen->end() : input.dims()[axis] == 1;
    if (!is_chosen)
      dims.push_back(input.dims()[axis]);
    else if (input.dims()[axis] != 1)
      call.fail("cannot squeeze dimension {} of {}", axis, join_dims(input.dims()));
  }
  return {input.reshaped(dims)};
}

std::vector<Tensor> unsqueeze(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const auto axes = axes_of(call, 1);
  if (!axes) call.fail("names no axes");
  const auto chosen = normalized_axes(*axes, input.dims().size() + axes->size());
  if (!chosen) call.fail("axes {} do not fit", join_dims(*axes));
  Dims dims = input.dims();
  for (const std::size_t axis : *chosen)
    dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return {input.reshaped(dims)};
}

}  // namespace

void add_view_kernels(KernelTable& table) {
  table["Identity"] = identity;
  table["Reshape"] = reshape;
  table["Flatten"] = flatten;
  table["Squeeze"] = squeeze;
  table["Unsqueeze"] = unsqueeze;
}

}  // namespace assay::kernels
