#include "kernels/kernel.h"

#include "kernels/families.h"

namespace assay {

namespace {

KernelTable all_kernels() {
  KernelTable table;
  add_arithmetic_kernels(table);
  add_comparison_kernels(table);
  add_unary_kernels(table);
  add_cast_kernels(table);
  add_creation_kernels(table);
  add_view_kernels(table);
  add_movement_kernels(table);
  add_gather_kernels(table);
  add_scatter_kernels(table);
  add_reduction_kernels(table);
  add_selection_kernels(table);
  return table;
}

Kernel find_kernel(const Node& node) {
  static const KernelTable table = all_kernels();
  if (!node.is_standard()) return nullptr;
  const auto found = table.find(node.op);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace

const Tensor& KernelCall::input(std::size_t i) const {
  if (!has(i)) fail("input {} is missing", i);
  return inputs[i];
}

bool has_kernel(const Node& node) {
  return find_kernel(node) != nullptr;
}

std::vector<Tensor> evaluate(const Node& node, std::span<const Tensor> inputs, std::int64_t opset) {
  const Kernel kernel = find_kernel(node);
  if (kernel == nullptr) fail_bad_input("{} '{}': no kernel for this op", node.op, node.name);
  return kernel(KernelCall{node, inputs, opset});
}

}  // namespace assay
