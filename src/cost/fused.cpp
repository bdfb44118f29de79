// Fused ops that ONNX Runtime's optimiser writes into models (domain com.microsoft).
#include <algorithm>

#include "base/checked.h"
#include "base/fail.h"
#include "cost/table.h"

namespace assay::cost {

namespace {

Work product_with_bias(const OpView& op, std::size_t bias_input) {
  Work work = macs_only(saturating_multiply(op.output_elements(), op.last_axis(0)));
  if (op.has_input(bias_input)) work.bias_flops = op.output_elements();
  return work;
}

Work fused_matmul(const OpView& op) {
  const auto a = op.input_dims(0);
  const bool transposed = op.node().int_or("transA", 0) != 0 && a.size() >= 2;
  const std::int64_t depth = transposed ? a[a.size() - 2] : op.last_axis(0);
  return macs_only(saturating_multiply(op.output_elements(), depth));
}

Work fused_gemm(const OpView& op) {
  Work work = fused_matmul(op);
  if (op.has_input(2)) work.bias_flops = op.output_elements();
  return work;
}

Work quantised_gemm(const OpView& op) {
  Work work = fused_matmul(op);
  if (op.has_input(6)) work.bias_flops = op.output_elements();
  if (op.has_input(7)) work.other_flops = saturating_multiply(2, op.output_elements());
  return work;
}

template <std::size_t BiasInput>
Work dense(const OpView& op) {
  return product_with_bias(op, BiasInput);
}

// scores and weighted sum: 2 · batch · queries · keys · width, and a softmax over the scores.
Work attention_core(std::int64_t batch, std::int64_t queries, std::int64_t keys, std::int64_t width,
                    std::int64_t heads) {
  const std::int64_t pairs = saturating_multiply(batch, saturating_multiply(queries, keys));
  Work work = macs_only(saturating_multiply(2, saturating_multiply(pairs, width)));
  work.other_flops = saturating_multiply(5, saturating_multiply(pairs, heads));
  return work;
}

// Over the whole cache, the most there is to attend to: how much of it is filled is known only when
// it runs.
Work cached_attention(const OpView& op) {
  const auto query = op.input_dims(0);
  const auto cache = op.input_dims(3);
  if (query.size() != 4 || cache.size() != 4) return {};
  return attention_core(query[0], query[2], cache[2], saturating_multiply(query[1], query[3]),
                        query[1]);
}

// Input [batch, length, width], weight [width, 3·hidden]: the projection is part of the op.
Work attention(const OpView& op) {
  const auto x = op.input_dims(0);
  const auto w = op.input_dims(1);
  if (x.size() != 3 || w.size() != 2) {
    fail_bad_input("{} '{}': input and weight have ranks {} and {}, expected 3 and 2", op.node().op,
                   op.graph().display_name(op.id()), x.size(), w.size());
  }
  const std::int64_t heads = std::max<std::int64_t>(1, op.node().int_or("num_heads", 1));
  Work work = attention_core(x[0], x[1], x[1], w[1] / 3, heads);
  const std::int64_t rows = saturating_multiply(x[0], x[1]);
  const std::int64_t projection = saturating_multiply(rows, saturating_multiply(w[0], w[1]));
  work.macs = saturating_add(work.macs, projection);
  work.effective_macs = work.macs;
  if (op.has_input(2)) work.bias_flops = saturating_multiply(rows, w[1]);
  return work;
}

Work multi_head_attention(const OpView& op) {
  const auto query = op.input_dims(0);
  const auto key = op.input_dims(op.has_input(1) ? 1 : 0);
  if (query.size() != 3 || key.size() != 3) throw ShapeNotKnown{"packed query, key and value"};
  const std::int64_t heads = std::max<std::int64_t>(1, op.node().int_or("num_heads", 1));
  return attention_core(query[0], query[1], key[1], query[2], heads);
}

Work embed_layer_norm(const OpView& op) {  // three look-ups summed, then a layer norm
  return flops_only(saturating_multiply(9, op.output_elements()));
}

}  // namespace

void add_fused_costs(CostTable& table) {
  table["assay:CachedAttention"] = {cached_attention};
  table["com.microsoft:FusedMatMul"] = {fused_matmul};
  table["com.microsoft:FusedGemm"] = {fused_gemm};
  table["com.microsoft:MatMulNBits"] = {dense<5>};
  table["com.microsoft:MatMulIntegerToFloat"] = {dense<6>};
  table["com.microsoft:DynamicQuantizeMatMul"] = {dense<4>};
  table["com.microsoft:QGemm"] = {quantised_gemm};
  table["com.microsoft:Attention"] = {attention};
  table["com.microsoft:QAttention"] = {attention};
  table["com.microsoft:MultiHeadAttention"] = {multi_head_attention};
  table["com.microsoft:EmbedLayerNormalization"] = {embed_layer_norm};
}

}  // namespace assay::cost
