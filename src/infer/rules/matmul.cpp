// Matrix products: MatMul, Gemm, their integer variants, and Det.
#include "infer/dims.h"
#include "infer/rules.h"

namespace assay::infer {

// As in NumPy: a vector on either side is a matrix whose extra axis is removed from the result.
std::optional<Shape> matmul_shape(const InferContext& context, const Shape* a, const Shape* b) {
  if (a == nullptr || b == nullptr) return std::nullopt;
  if (a->rank() == 0 || b->rank() == 0)
    context.fail("cannot multiply scalars: {} by {}", a->to_string(), b->to_string());
  const Dim& inner_a = (*a)[a->rank() - 1];
  const Dim& inner_b = (*b)[b->rank() == 1 ? 0 : b->rank() - 2];
  if (inner_a.is_known() && inner_b.is_known() && inner_a != inner_b) {
    context.fail("cannot multiply {} by {}: {} columns against {} rows", a->to_string(),
                 b->to_string(), inner_a.value(), inner_b.value());
  }
  const auto batch = [](const Shape& shape) {
    const std::size_t count = shape.rank() < 2 ? 0 : shape.rank() - 2;
    return Shape(
        std::vector<Dim>(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(count)));
  };
  Shape result = broadcast(context, batch(*a), batch(*b));
  if (a->rank() > 1) result.push_back((*a)[a->rank() - 2]);
  if (b->rank() > 1) result.push_back((*b)[b->rank() - 1]);
  return result;
}

void matrix_product(InferContext& context) {
  context.set(0, context.element(0), matmul_shape(context, context.shape(0), context.shape(1)));
}

void gemm(InferContext& context) {
  const Shape* a = context.shape_of_rank(0, 2);
  const Shape* b = context.shape_of_rank(1, 2);
  const bool flips_a = context.node().int_or("transA", 0) != 0;
  const bool flips_b = context.node().int_or("transB", 0) != 0;
  Shape result = unknown_shape(2);
  if (a != nullptr) result[0] = (*a)[flips_a ? 1 : 0];
  if (b != nullptr) result[1] = (*b)[flips_b ? 0 : 1];
  if (a != nullptr && b != nullptr) {
    equal_dims(context, (*a)[flips_a ? 0 : 1], (*b)[flips_b ? 1 : 0],
               "input features and weight differ");
  }
  if (context.has(2) && context.shape(2) != nullptr) {
    const Shape with_bias = broadcast(context, result, *context.shape(2));
    const bool is_widened = result.is_known() && with_bias != result;
    if (is_widened)
      context.fail("bias {} does not fit {}", context.shape(2)->to_string(), result.to_string());
  }
  context.set(0, context.element(0), result);
}

namespace {

void integer_product(InferContext& context) {
  context.set(0, DataType::Int32, matmul_shape(context, context.shape(0), context.shape(1)));
}

void quantised_product(InferContext& context) {
  context.set(0, context.has(7) ? context.element(7) : context.element(0),
              matmul_shape(context, context.shape(0), context.shape(3)));
}

void determinant(InferContext& context) {
  const Shape* input = context.shape_of_rank_at_least(0, 2);
  if (input == nullptr) return context.set(0, context.element(0));
  std::vector<Dim> dims = dims_of(*input);
  equal_dims(context, dims[dims.size() - 1], dims[dims.size() - 2], "matrices are not square");
  dims.resize(dims.size() - 2);
  context.set(0, context.element(0), Shape(dims));
}

}  // namespace

void add_matmul_rules(RuleTable& table) {
  table["MatMul"] = matrix_product;
  table["Gemm"] = gemm;
  table["MatMulInteger"] = integer_product;
  table["QLinearMatMul"] = quantised_product;
  table["Det"] = determinant;
}

}  // namespace assay::infer
