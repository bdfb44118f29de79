#include "kernels/kernel.h"

#include "base/free_memory.h"
#include "kernels/families.h"
#include "kernels/shape_math.h"

namespace assay::kernels {

namespace {

// Kernels that shape arithmetic may use: their work is in proportion to their tensors.
KernelTable element_kernels() {
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
  add_bitwise_kernels(table);
  add_padding_kernels(table);
  add_picking_kernels(table);
  return table;
}

KernelTable other_kernels() {
  KernelTable table;
  add_unique_kernels(table);
  add_non_max_suppression_kernels(table);
  add_text_kernels(table);
  add_n_gram_kernels(table);
  add_random_kernels(table);
  add_determinant_kernels(table);
  add_fourier_kernels(table);
  add_window_function_kernels(table);
  add_loss_kernels(table);
  add_col2im_kernels(table);
  return table;
}

KernelTable training_kernels() {
  KernelTable table;
  add_optimizer_kernels(table);
  return table;
}

// Kernels of neural networks, whose work may be far more than their tensors' elements.
KernelTable neural_kernels() {
  KernelTable table;
  add_activation_kernels(table);
  add_real_function_kernels(table);
  add_dropout_kernels(table);
  add_convolution_kernels(table);
  add_transposed_convolution_kernels(table);
  add_matmul_kernels(table);
  add_integer_product_kernels(table);
  add_einsum_kernels(table);
  add_softmax_kernels(table);
  add_pooling_kernels(table);
  add_global_pooling_kernels(table);
  add_batch_normalization_kernels(table);
  add_layer_normalization_kernels(table);
  add_norm_kernels(table);
  add_recurrent_kernels(table);
  add_quantization_kernels(table);
  add_resize_kernels(table);
  add_block_kernels(table);
  add_grid_kernels(table);
  add_region_kernels(table);
  return table;
}

KernelTable microsoft_kernels() {
  KernelTable table;
  add_microsoft_kernels(table);
  add_quantized_microsoft_kernels(table);
  add_quantized_product_kernels(table);
  add_quantized_recurrent_kernels(table);
  add_attention_kernels(table);
  add_quantized_attention_kernels(table);
  return table;
}

KernelTable own_kernels() {
  KernelTable table;
  add_convolution_gradient_kernels(table);
  add_pooling_gradient_kernels(table);
  add_normalization_gradient_kernels(table);
  add_activation_gradient_kernels(table);
  add_picking_gradient_kernels(table);
  add_resize_gradient_kernels(table);
  add_loss_gradient_kernels(table);
  add_own_optimizer_kernels(table);
  add_recurrent_gradient_kernels(table);
  add_stepwise_dropout_kernels(table);
  add_cached_attention_kernels(table);
  return table;
}

bool is_in_standard_domain(const Node& node) {
  return node.is_standard() || node.domain == "ai.onnx";
}

Kernel found_in(const KernelTable& table, const Node& node) {
  const auto found = table.find(node.op);
  return found == table.end() ? nullptr : found->second;
}

Kernel find_element_kernel(const Node& node) {
  static const KernelTable table = element_kernels();
  return is_in_standard_domain(node) ? found_in(table, node) : nullptr;
}

Kernel find_kernel(const Node& node) {
  static const KernelTable neural = neural_kernels();
  static const KernelTable other = other_kernels();
  static const KernelTable microsoft = microsoft_kernels();
  static const KernelTable training = training_kernels();
  static const KernelTable own = own_kernels();
  if (node.domain == kOwnDomain) return found_in(own, node);
  if (node.domain == "com.microsoft") return found_in(microsoft, node);
  if (node.domain == "ai.onnx.preview.training") return found_in(training, node);
  if (!is_in_standard_domain(node)) return nullptr;
  if (const Kernel kernel = find_element_kernel(node)) return kernel;
  const Kernel kernel = found_in(neural, node);
  return kernel != nullptr ? kernel : found_in(other, node);
}

}  // namespace

const Tensor& KernelCall::input(std::size_t i) const {
  if (!has(i)) fail("input {} is missing", i);
  return inputs[i];
}

void KernelCall::need_memory(std::int64_t bytes) const {
  check_memory_for(bytes, [&] { return fmt::format("{} '{}'", node.op, node.name); });
}

std::vector<std::int64_t> KernelCall::ints(const char* attribute) const {
  const auto* numbers = node.get<std::vector<std::int64_t>>(attribute);
  if (numbers == nullptr) fail("attribute '{}' is missing", attribute);
  return *numbers;
}

std::size_t KernelCall::axis(std::int64_t otherwise, std::size_t rank) const {
  const std::int64_t given = node.int_or("axis", otherwise);
  const auto axis = normalized_axis(given, rank);
  if (!axis) fail("axis {} is out of range", given);
  return *axis;
}

bool has_kernel(const Node& node) {
  return find_kernel(node) != nullptr;
}

bool works_in_proportion(const Node& node) {
  return find_element_kernel(node) != nullptr;
}

std::vector<Tensor> evaluate(const Node& node, std::span<const Tensor> inputs, std::int64_t opset) {
  const Kernel kernel = find_kernel(node);
  if (kernel == nullptr) fail_bad_input("{} '{}': no kernel for this op", node.op, node.name);
  return kernel(KernelCall{node, inputs, opset});
}

}  // namespace assay::kernels
