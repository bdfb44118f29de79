// Every family of kernels, each in its own file; `kernel.cpp` collects them.
#pragma once

#include "kernels/kernel.h"

namespace assay::kernels {

void add_arithmetic_kernels(KernelTable& table);
void add_comparison_kernels(KernelTable& table);
void add_unary_kernels(KernelTable& table);
void add_cast_kernels(KernelTable& table);
void add_creation_kernels(KernelTable& table);
void add_view_kernels(KernelTable& table);
void add_movement_kernels(KernelTable& table);
void add_gather_kernels(KernelTable& table);
void add_scatter_kernels(KernelTable& table);
void add_reduction_kernels(KernelTable& table);
void add_selection_kernels(KernelTable& table);
void add_bitwise_kernels(KernelTable& table);
void add_padding_kernels(KernelTable& table);
void add_picking_kernels(KernelTable& table);

// Neither shape arithmetic nor neural networks.
void add_unique_kernels(KernelTable& table);
void add_non_max_suppression_kernels(KernelTable& table);
void add_text_kernels(KernelTable& table);
void add_n_gram_kernels(KernelTable& table);
void add_random_kernels(KernelTable& table);
void add_determinant_kernels(KernelTable& table);
void add_fourier_kernels(KernelTable& table);
void add_window_function_kernels(KernelTable& table);
void add_loss_kernels(KernelTable& table);
void add_col2im_kernels(KernelTable& table);

// Neural networks.
void add_activation_kernels(KernelTable& table);
void add_real_function_kernels(KernelTable& table);
void add_dropout_kernels(KernelTable& table);
void add_softmax_kernels(KernelTable& table);
void add_convolution_kernels(KernelTable& table);
void add_transposed_convolution_kernels(KernelTable& table);
void add_matmul_kernels(KernelTable& table);
void add_integer_product_kernels(KernelTable& table);
void add_einsum_kernels(KernelTable& table);
void add_pooling_kernels(KernelTable& table);
void add_global_pooling_kernels(KernelTable& table);
void add_region_kernels(KernelTable& table);
void add_batch_normalization_kernels(KernelTable& table);
void add_layer_normalization_kernels(KernelTable& table);
void add_norm_kernels(KernelTable& table);
void add_recurrent_kernels(KernelTable& table);
void add_resize_kernels(KernelTable& table);
void add_grid_kernels(KernelTable& table);
void add_block_kernels(KernelTable& table);
void add_quantization_kernels(KernelTable& table);

// Our own: decoding, training and backward passes.
void add_cached_attention_kernels(KernelTable& table);
void add_stepwise_dropout_kernels(KernelTable& table);
void add_convolution_gradient_kernels(KernelTable& table);
void add_pooling_gradient_kernels(KernelTable& table);
void add_normalization_gradient_kernels(KernelTable& table);
void add_activation_gradient_kernels(KernelTable& table);
void add_picking_gradient_kernels(KernelTable& table);
void add_resize_gradient_kernels(KernelTable& table);
void add_loss_gradient_kernels(KernelTable& table);
void add_recurrent_gradient_kernels(KernelTable& table);

// Other domains.
void add_optimizer_kernels(KernelTable& table);
void add_own_optimizer_kernels(KernelTable& table);
void add_microsoft_kernels(KernelTable& table);
void add_quantized_microsoft_kernels(KernelTable& table);
void add_quantized_product_kernels(KernelTable& table);
void add_quantized_recurrent_kernels(KernelTable& table);
void add_attention_kernels(KernelTable& table);
void add_quantized_attention_kernels(KernelTable& table);

}  // namespace assay::kernels
