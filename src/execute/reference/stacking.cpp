#include "execute/reference/stacking.h"

#include "kernels/kernel.h"

namespace assay::reference {

using kernels::evaluate;

namespace {

// Complaints come from the node being run, whatever kernel helps it.
std::vector<Tensor> apply(const ValueCall& call, const char* op, std::span<const Tensor> inputs,
                          std::vector<Attribute> attributes) {
  constexpr std::int64_t kOpset = 17;
  const Node node{
      .name = call.node.name, .op = op, .domain = "", .attributes = std::move(attributes)};
  try {
    return evaluate(node, inputs, kOpset);
  } catch (const Error& error) {
    throw Error(error.kind(),
                fmt::format("{} '{}': {}", call.node.op, call.node.name, error.what()));
  }
}

}  // namespace

Tensor slice_at(const ValueCall& call, const Tensor& tensor, std::int64_t axis,
                std::int64_t index) {
  const Tensor inputs[] = {tensor, Tensor::of_int64({}, {index})};
  return apply(call, "Gather", inputs, {{"axis", axis}}).front();
}

Tensor joined(const ValueCall& call, std::vector<Tensor> parts, std::int64_t axis) {
  return apply(call, "Concat", parts, {{"axis", axis}}).front();
}

Tensor stacked(const ValueCall& call, std::vector<Tensor> slices, std::int64_t axis) {
  const Tensor axes = Tensor::of_int64({1}, {axis});
  for (Tensor& slice : slices) {
    const Tensor inputs[] = {slice, axes};
    slice = apply(call, "Unsqueeze", inputs, {}).front();
  }
  return joined(call, std::move(slices), axis);
}

std::vector<Tensor> parted(const ValueCall& call, const Tensor& tensor, std::int64_t axis,
                           std::span<const std::int64_t> lengths) {
  const Tensor inputs[] = {
      tensor, Tensor::of<std::int64_t>(DataType::Int64, {static_cast<std::int64_t>(lengths.size())},
                                       lengths)};
  return apply(call, "Split", inputs, {{"axis", axis}});
}

Tensor empty_stack(const ValueCall& call, const ValueType& slice) {
  if (!slice.is_tensor() || slice.element == DataType::Undefined)
    call.fail("collects nothing, and of what type is not known");
  std::vector<std::int64_t> dims = {0};
  if (slice.shape) {
    for (const Dim& dim : *slice.shape) dims.push_back(dim.is_known() ? dim.value() : 0);
  }
  if (slice.element == DataType::String) return Tensor(dims, std::vector<std::string>{});
  return Tensor(slice.element, dims, heap_storage({}));
}

}  // namespace assay::reference
