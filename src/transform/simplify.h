// What every engine wants done to a graph before it runs: fused operators written in standard ones,
// constants folded, nodes that do nothing removed, batch norms folded into convolutions, quantised
// layers recognised, well-known groups of small ops (GELU, layer norm) recognised as the one op
// they are, and scales of products of activations folded into them. Each is a pass of its own;
// results differ from the original's by rounding only.
#pragma once

#include "transform/edit.h"

namespace assay::transform {

struct SimplifyOptions {
  // Whether the engine multiplies 8-bit numbers exactly; if not, quantised layers become float ops
  // between DequantizeLinear and QuantizeLinear.
  bool has_8_bit_products = true;
};

Rewritten simplify(Inferred model, const SimplifyOptions& options = {});

// The passes, in the order `simplify` runs them.
Rewritten expand_fused_operators(Inferred model, const SimplifyOptions& options = {});
void fold_constants(GraphEdit& edit);
void drop_idle_nodes(GraphEdit& edit);
void fold_batch_norms(GraphEdit& edit);
void recognise_quantized_layers(GraphEdit& edit);
void recognise_weight_only_products(GraphEdit& edit);
void absorb_weight_transposes(GraphEdit& edit);
void recognise_layer_norms(GraphEdit& edit);
void recognise_gelus(GraphEdit& edit);
void fold_product_scales(GraphEdit& edit);
void drop_unread_nodes(GraphEdit& edit);

}  // namespace assay::transform
