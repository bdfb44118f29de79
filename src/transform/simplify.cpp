#include "transform/simplify.h"

namespace assay::transform {

Rewritten simplify(Inferred model, const SimplifyOptions& options) {
  GraphEdit edit(expand_fused_operators(std::move(model), options));
  drop_idle_nodes(edit);
  if (options.has_8_bit_products) recognise_quantized_layers(edit);
  recognise_weight_only_products(edit);
  absorb_weight_transposes(edit);
  fold_constants(edit);
  fold_batch_norms(edit);
  recognise_layer_norms(edit);
  recognise_gelus(edit);
  fold_product_scales(edit);
  drop_unread_nodes(edit);
  return std::move(edit).finish();
}

// From the last node to the first, so that one removed frees those before it.
void drop_unread_nodes(GraphEdit& edit) {
  for (std::uint32_t i = static_cast<std::uint32_t>(edit.node_count()); i-- > 0;) {
    const NodeId id{i};
    if (!edit.is_alive(id)) continue;
    bool is_read = false;
    for (const ValueId output : edit.node(id).outputs) {
      is_read = is_read || (output.is_valid() && edit.readers(output) > 0);
    }
    if (!is_read) edit.remove(id);
  }
}

}  // namespace assay::transform
