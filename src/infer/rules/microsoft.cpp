// The common fused operators of com.microsoft, as ONNX Runtime's optimizer writes them.
#include <algorithm>

#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

namespace {

std::optional<Shape> flipped(const Shape* shape, bool flips) {
  if (shape == nullptr) return std::nullopt;
  Shape result = *shape;
  if (flips && result.rank() >= 2) std::swap(result[result.rank() - 1], result[result.rank() - 2]);
  return result;
}

void fused_product(InferContext& context) {
  const auto a = flipped(context.shape(0), context.node().int_or("transA", 0) != 0);
  const auto b = flipped(context.shape(1), context.node().int_or("transB", 0) != 0);
  context.set(0, context.element(0), matmul_shape(context, a ? &*a : nullptr, b ? &*b : nullptr));
}

// A is a float matrix, B an integer one; the result is float.
void dynamic_product(InferContext& context) {
  context.set(0, DataType::Float32, matmul_shape(context, context.shape(0), context.shape(1)));
}

void nbits_product(InferContext& context) {
  const Shape* input = context.shape_of_rank_at_least(0, 1);
  const std::int64_t columns = context.node().int_or("N", -1);
  const std::int64_t rows = context.node().int_or("K", -1);
  if (columns < 0 || rows < 0) context.fail("attributes N and K are missing or negative");
  if (input == nullptr) return context.set(0, context.element(0));
  Shape result = *input;
  equal_dims(context, result[result.rank() - 1], Dim(rows), "input features and K differ");
  result[result.rank() - 1] = Dim(columns);
  context.set(0, context.element(0), result);
}

void quantised_gemm(InferContext& context) {
  const bool flips_a = context.node().int_or("transA", 0) != 0;
  const bool flips_b = context.node().int_or("transB", 0) != 0;
  context.shape_of_rank(0, 2);
  context.shape_of_rank(3, 2);
  const auto a = flipped(context.shape(0), flips_a);
  const auto b = flipped(context.shape(3), flips_b);
  const DataType element = context.has(8) ? context.element(8) : DataType::Float32;
  context.set(0, element, matmul_shape(context, a ? &*a : nullptr, b ? &*b : nullptr));
}

// Inputs are A, its scale and zero point, then B and its own.
void quantised_binary(InferContext& context) {
  const Shape* a = context.shape(0);
  const Shape* b = context.shape(3);
  context.set(
      0, context.element(0),
      a != nullptr && b != nullptr ? std::optional(broadcast(context, *a, *b)) : std::nullopt);
}

void quantised_global_pool(InferContext& context) {
  const Shape* input = context.shape_of_rank_at_least(0, 3);
  if (input == nullptr) return context.set(0, context.element(0));
  const bool channels_last = context.node().int_or("channels_last", 0) != 0;
  Shape result = *input;
  const std::size_t first = channels_last ? 1 : 2;
  for (std::size_t i = 0; i < input->rank() - 2; ++i) result[first + i] = Dim(1);
  context.set(0, context.element(0), result);
}

// After the result's scale and zero point come triples: tensor, scale, zero point.
void quantised_concat(InferContext& context) {
  std::optional<Shape> result;
  for (std::size_t i = 2; i < context.input_count(); i += 3) {
    const Shape* part = context.shape(i);
    if (part == nullptr || (result && result->rank() != part->rank()))
      return context.set(0, context.element(2));
    const std::size_t axis = context.axis(context.node().int_or("axis", 1), part->rank());
    if (!result)
      result = *part;
    else
      (*result)[axis] = sum_of(context, (*result)[axis], (*part)[axis]);
  }
  context.set(0, context.element(2), result);
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

// Input (B, S, H) times a packed weight (H, Q + K + V): the result is (B, S, V).
void attention(InferContext& context) {
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
  context.set(0, context.element(0), result);
}

// Separate query (B, S, H) and value (B, L, V): the result is (B, S, V).
void multi_head_attention(InferContext& context) {
  const Shape* query = context.shape(0);
  const Shape* value = context.has(2) ? context.shape(2) : nullptr;
  if (query == nullptr || query->rank() != 3) return context.set(0, context.element(0));
  Shape result = *query;
  if (value != nullptr && value->rank() == 3) result[2] = (*value)[2];
  context.set(0, context.element(0), result);
}

void bias_gelu(InferContext& context) {
  context.type(1);
  same_as_input(context);
}

}  // namespace

void add_microsoft_rules(RuleTable& table) {
  add_quantization_rules(table);
  table["FusedConv"] = convolution;
  table["FusedGemm"] = gemm;
  table["FusedMatMul"] = fused_product;
  table["TransposeMatMul"] = fused_product;
  table["DynamicQuantizeMatMul"] = dynamic_product;
  table["MatMulIntegerToFloat"] = dynamic_product;
  table["MatMulNBits"] = nbits_product;
  table["QGemm"] = quantised_gemm;
  for (const char* op : {"QLinearAdd", "QLinearMul"}) table[op] = quantised_binary;
  for (const char* op :
       {"QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", "Gelu", "FastGelu", "QuickGelu",
        "BiasSoftmax", "RotaryEmbedding", "GroupNorm", "GroupQueryAttention"}) {
    table[op] = same_as_input;
  }
  table["QLinearGlobalAveragePool"] = quantised_global_pool;
  table["QLinearConcat"] = quantised_concat;
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
