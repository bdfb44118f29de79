// Matrix products of 8-bit numbers with known weights: what their two kinds share. In one, oneDNN
// or our tile kernels write the final results; in the other, a pass of ours finishes their 32-bit
// sums.
#pragma once

#include "execute/cpu/lower/quantized_facts.h"

namespace assay::cpu {

// weights[k, n], or [n, k] where transposed.
struct ProductLayer {
  NodeId id;
  std::int64_t m = 0, k = 0, n = 0;
  bool is_transposed = false;
  Tensor weights;
  std::vector<std::int32_t> weight_zero_points;  // still to be subtracted; empty: all are 0
  std::vector<float> weight_scales;              // one, or one for each column
};

// The operands of QLinearMatMul and QGemm by position, which differ.
struct ProductOperands {
  ValueId source = {}, source_scale = {}, source_zero = {};
  ValueId weights = {}, weight_scale = {}, weight_zero = {};
  ValueId bias = {}, result_scale = {}, result_zero = {};
};
ProductOperands operands_of(const Node& node);

// Nothing where the engine has no form for it. Without `of.weight_scale` weights have the scale 1.
std::optional<ProductLayer> product_layer_of(const Lowering& lowering, NodeId id,
                                             const ProductOperands& of, bool is_transposed);

// Of weights less their zero points.
std::vector<std::int32_t> column_sums(const ProductLayer& layer);

struct ProductStep {
  StepDraft draft;
  Binder bind;
};

// The product as oneDNN runs it, or tiles of ours, from `source` to `result`.
std::optional<ProductStep> product_step(Lowering& lowering, const ProductLayer& layer,
                                        const Product& what, const Placement& source,
                                        const Placement& result, const std::optional<Tensor>& bias);

// A QLinearMatMul or QGemm whose weights have zero points that are still to be subtracted.
bool lower_by_sums(Lowering& lowering, const ProductLayer& layer, const Tensor* bias);

}  // namespace assay::cpu
