// Our own matrix products, and convolutions with 16-bit weights, as candidates for the tuner. They
// compute in float32, or in float16 if the processor can and the weights allow it.
#pragma once

#include "execute/cpu/kernels/product_finish.h"
#include "execute/cpu/lower/convolution_layer.h"
#include "execute/cpu/lower/fused_ops.h"

namespace assay::cpu {

float largest_magnitude(const Tensor& weights);

// Whether the arithmetic of a kernel of our own is that of float16.
bool computes_in_float16(const Choice& choice);

// What patches of a panel convolution may take: less where the arena has to be small.
std::size_t patch_floats(const Lowering& lowering);

// What fused operators do to rows of sums; nothing where our kernels do not have one of them.
std::optional<std::vector<ProductFinish>> product_finish_of(const std::vector<PostOp>& post_ops);

// result[m, n] = source[m, k] · weights. Weights, source and result are floats or have 16 bits.
struct OwnMatrixProduct {
  std::int64_t m = 0, k = 0, n = 0;
  bool has_bias = false;
  const Tensor& weight;
  DataType type = DataType::Float32;  // of source and result
};
// For a few rows, which are bound by reading weights, and for many, the best first; nothing where a
// kernel has no form.
std::optional<Choice> few_rows_choice(const Lowering& lowering, const OwnMatrixProduct& product,
                                      const FusedOps& fused);
std::vector<Choice> many_rows_choices(const Lowering& lowering, const OwnMatrixProduct& product,
                                      const FusedOps& fused);
// The weight packed for one of them.
Placement packed_matrix(Lowering& lowering, const Choice& choice, const Tensor& weight,
                        bool is_transposed);

// Of a layer whose weights are stored in 16 bits; images, of its own type, lie channels last.
std::vector<Choice> half_convolutions(const Lowering& lowering, const ConvolutionLayer& layer,
                                      const FusedOps& fused);

}  // namespace assay::cpu
