// The quantised operators of com.microsoft.
#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

namespace {

// A zero point has the type of the tensor it belongs to.
DataType element_of_result(const InferContext& context, std::size_t zero_point, std::size_t data) {
  return context.element(context.has(zero_point) ? zero_point : data);
}

// A in real numbers; B, its scale and optional zero point.
void dynamic_product(InferContext& context) {
  context.set(0, context.element(0), matmul_shape(context, context.shape(0), context.shape(1)));
}

void integer_product_to_float(InferContext& context) {
  context.set(0, context.element(2), matmul_shape(context, context.shape(0), context.shape(1)));
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

// Real without the result's scale and zero point.
void quantised_gemm(InferContext& context) {
  const bool flips_a = context.node().int_or("transA", 0) != 0;
  const bool flips_b = context.node().int_or("transB", 0) != 0;
  const auto a = flipped(context.shape_of_rank(0, 2), flips_a);
  const auto b = flipped(context.shape_of_rank(3, 2), flips_b);
  if (context.has(7) != context.has(8))
    context.fail("has only one of y_scale and y_zero_point; give both, or neither for a real Y");
  const auto result = matmul_shape(context, a ? &*a : nullptr, b ? &*b : nullptr);
  if (result && context.has(6) && context.shape(6) != nullptr)
    check_broadcasts_to(context, *context.shape(6), *result, "C");
  context.set(0, context.element(context.has(8) ? 8 : 1), result);
}

void quantised_unary(InferContext& context) {
  context.set(0, element_of_result(context, 4, 0), context.type(0).shape);
}

// Inputs are A, its scale and zero point, then B and its own.
void quantised_binary(InferContext& context) {
  const Shape* a = context.shape(0);
  const Shape* b = context.shape(3);
  context.set(
      0, element_of_result(context, 7, 0),
      a != nullptr && b != nullptr ? std::optional(broadcast(context, *a, *b)) : std::nullopt);
}

void quantised_softmax(InferContext& context) {
  const Shape* input = context.shape(0);
  const std::int64_t axis = context.node().int_or("axis", -1);
  if (input != nullptr) context.axis(axis, input->rank());
  quantised_unary(context);
}

// The spatial axes stand after the channels, or before them with channels_last.
Shape channels_first(const InferContext& context, const Shape& shape) {
  if (context.node().int_or("channels_last", 0) == 0) return shape;
  Shape moved = shape;
  moved[1] = shape[shape.rank() - 1];
  for (std::size_t axis = 1; axis + 1 < shape.rank(); ++axis) moved[axis + 1] = shape[axis];
  return moved;
}

Shape channels_as_given(const InferContext& context, const Shape& shape) {
  if (context.node().int_or("channels_last", 0) == 0) return shape;
  Shape moved = shape;
  moved[shape.rank() - 1] = shape[1];
  for (std::size_t axis = 1; axis + 1 < shape.rank(); ++axis) moved[axis] = shape[axis + 1];
  return moved;
}

void quantised_global_pool(InferContext& context) {
  const DataType element = element_of_result(context, 4, 0);
  const Shape* input = context.shape_of_rank_at_least(0, 3);
  if (input == nullptr) return context.set(0, element);
  Shape result = channels_first(context, *input);
  for (std::size_t axis = 2; axis < result.rank(); ++axis) result[axis] = Dim(1);
  context.set(0, element, channels_as_given(context, result));
}

void quantised_average_pool(InferContext& context) {
  const DataType element = element_of_result(context, 4, 0);
  const Shape* input = context.shape_of_rank_at_least(0, 3);
  if (input == nullptr) return context.set(0, element);
  const Shape result = pooled_shape(context, channels_first(context, *input));
  context.set(0, element, channels_as_given(context, result));
}

// After the result's scale and zero point come triples: tensor, scale, zero point.
void quantised_concat(InferContext& context) {
  if (context.input_count() < 5 || context.input_count() % 3 != 2)
    context.fail(
        "has {} inputs; needs a scale and a zero point for the result, then a tensor, a "
        "scale and a zero point for each part",
        context.input_count());
  const DataType element = context.element(1);
  std::optional<Shape> result;
  for (std::size_t i = 2; i < context.input_count(); i += 3) {
    const Shape* part = context.shape(i);
    if (part == nullptr) return context.set(0, element);
    if (result && result->rank() != part->rank())
      context.fail("parts have {} and {} axes", result->rank(), part->rank());
    const std::size_t axis = context.axis(context.node().int_or("axis", 1), part->rank());
    if (!result) {
      result = *part;
      continue;
    }
    for (std::size_t other = 0; other < part->rank(); ++other) {
      Dim& dim = (*result)[other];
      dim = other == axis ? sum_of(context, dim, (*part)[other])
                          : equal_dims(context, dim, (*part)[other], "parts differ");
    }
  }
  context.set(0, element, result);
}

// Weights have their gates on the last axis.
void dynamic_lstm(InferContext& context) {
  const RecurrentShapes shapes = recurrent_shapes(context, 4, true);
  context.set(0, context.element(0), shapes.all);
  context.set(1, context.element(0), shapes.last);
  context.set(2, context.element(0), shapes.last);
}

void quantised_attention(InferContext& context) {
  const Shape result = attention_shape(context);
  const DataType element = context.element(3);
  context.set(0, element, result);
  context.set(1, element, present_shape(context, result, 8));
}

}  // namespace

void add_quantized_microsoft_rules(RuleTable& table) {
  table["DynamicQuantizeMatMul"] = dynamic_product;
  table["MatMulIntegerToFloat"] = integer_product_to_float;
  table["MatMulNBits"] = nbits_product;
  table["QGemm"] = quantised_gemm;
  for (const char* op : {"QLinearAdd", "QLinearMul"}) table[op] = quantised_binary;
  for (const char* op : {"QLinearSigmoid", "QLinearLeakyRelu"}) table[op] = quantised_unary;
  table["QLinearSoftmax"] = quantised_softmax;
  table["QLinearGlobalAveragePool"] = quantised_global_pool;
  table["QLinearAveragePool"] = quantised_average_pool;
  table["QLinearConcat"] = quantised_concat;
  table["DynamicQuantizeLSTM"] = dynamic_lstm;
  table["QAttention"] = quantised_attention;
}

}  // namespace assay::infer
