// The common fused operators of com.microsoft, as ONNX Runtime's optimizer writes them.
#include <algorithm>

#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

std::optional<Shape> flipped(const Shape* shape, bool flips) {
  if (shape == nullptr) return std::nullopt;
  Shape result = *shape;
  if (flips && result.rank() >= 2) std::swap(result[result.rank() - 1], result[result.rank() - 2]);
  return result;
}

Shape attention_shape(const InferContext& context) {
  const Shape* input = context.shape_of_rank(0, 3);
  const Shape* weight = context.shape_of_rank(1, 2);
  Shape result = unknown_shape(3);
  if (input != nullptr) result[0] = (*input)[0];
  if (input != nullptr) result[1] = (*input)[1];
  const Dims sizes = context.node().ints_or("qkv_hidden_sizes", {});
  if (sizes.size() == 3)
    result[2] = sizes[2] >= 0 ? Dim(sizes[2]) : Dim();
  else if (weight != nullptr)
    result[2] = divided(context, (*weight)[1], 3, "packed weights");
  return result;
}

Shape present_shape(const InferContext& context, const Shape& result, std::size_t past_input) {
  const std::int64_t heads = context.node().int_or("num_heads", 0);
  if (heads <= 0) context.fail("attribute 'num_heads' is missing or not positive");
  Shape present = {Dim(2), result[0], Dim(heads), result[1],
                   divided(context, result[2], heads, "the heads")};
  if (!context.has(past_input)) return present;
  const Shape* past = context.shape_of_rank(past_input, 5);
  present[3] = past != nullptr ? sum_of(context, present[3], (*past)[3]) : Dim();
  return present;
}

namespace {

void fused_product(InferContext& context) {
  const auto a = flipped(context.shape(0), context.node().int_or("transA", 0) != 0);
  const auto b = flipped(context.shape(1), context.node().int_or("transB", 0) != 0);
  context.set(0, context.element(0), matmul_shape(context, a ? &*a : nullptr, b ? &*b : nullptr));
}

void skip_layer_normalization(InferContext& context) {
  const Shape* input = context.shape_of_rank_at_least(0, 1);
  same_as_input(context);
  std::optional<Shape> statistics = maybe(input);
  if (statistics) (*statistics)[statistics->rank() - 1] = Dim(1);
  context.set(1, DataType::Float32, statistics);
  context.set(2, DataType::Float32, statistics);
  context.set(3, context.type(0));
}

void embed_layer_normalization(InferContext& context) {
  const Shape* ids = context.shape_of_rank(0, 2);
  const Shape* words = context.shape_of_rank(2, 2);
  Shape result = unknown_shape(3);
  if (ids != nullptr) result[0] = (*ids)[0];
  if (ids != nullptr) result[1] = (*ids)[1];
  if (words != nullptr) result[2] = (*words)[1];
  context.set(0, context.element(2), result);
  context.set(1, DataType::Int32, Shape{result[0]});
  context.set(2, context.element(2), result);
}

void attention(InferContext& context) {
  const Shape result = attention_shape(context);
  context.set(0, context.element(0), result);
  if (context.node().has_output(1))
    context.set(1, context.element(0), present_shape(context, result, 4));
}

// Keys or values of all positions so far: (B, heads, past + L, width / heads).
void set_present(InferContext& context, std::size_t output, std::size_t input, std::size_t past) {
  const Shape* now = context.has(input) ? context.shape(input) : nullptr;
  const std::int64_t heads = context.node().int_or("num_heads", 0);
  if (!context.node().has_output(output) || now == nullptr || now->rank() != 3 || heads <= 0)
    return;
  Shape present = {(*now)[0], Dim(heads), (*now)[1],
                   divided(context, (*now)[2], heads, "the heads")};
  if (context.has(past)) {
    const Shape* before = context.shape_of_rank(past, 4);
    present[2] = before != nullptr ? sum_of(context, present[2], (*before)[2]) : Dim();
  }
  context.set(output, context.element(0), present);
}

// Separate query (B, S, H) and value (B, L, V): the result is (B, S, V).
void multi_head_attention(InferContext& context) {
  const Shape* query = context.shape(0);
  const Shape* value = context.has(2) ? context.shape(2) : nullptr;
  if (query == nullptr || query->rank() != 3) return context.set(0, context.element(0));
  Shape result = *query;
  if (value != nullptr && value->rank() == 3) result[2] = (*value)[2];
  context.set(0, context.element(0), result);
  set_present(context, 1, 1, 6);
  set_present(context, 2, 2, 7);
}

void bias_gelu(InferContext& context) {
  context.type(1);
  same_as_input(context);
}

}  // namespace

void add_microsoft_rules(RuleTable& table) {
  add_quantization_rules(table);
  add_quantized_microsoft_rules(table);
  table["FusedConv"] = convolution;
  table["FusedGemm"] = gemm;
  table["FusedMatMul"] = fused_product;
  table["TransposeMatMul"] = fused_product;
  for (const char* op : {"Gelu", "FastGelu", "QuickGelu", "BiasSoftmax", "RotaryEmbedding",
                         "GroupNorm", "GroupQueryAttention"}) {
    table[op] = same_as_input;
  }
  table["LayerNormalization"] = layer_normalization;
  table["SimplifiedLayerNormalization"] = layer_normalization;
  for (const char* op : {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"})
    table[op] = skip_layer_normalization;
  table["EmbedLayerNormalization"] = embed_layer_normalization;
  table["Attention"] = attention;
  table["MultiHeadAttention"] = multi_head_attention;
  table["BiasGelu"] = bias_gelu;
}

}  // namespace assay::infer
