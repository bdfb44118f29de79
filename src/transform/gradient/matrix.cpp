// MatMul over any ranks, and Gemm.
#include <numeric>

#include "kernels/lanes.h"
#include "transform/gradient/context.h"

namespace assay::transform {

namespace {

ValueId with_last_two_swapped(GradientContext& context, ValueId value, std::size_t rank) {
  Dims order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[rank - 1], order[rank - 2]);
  return context.transposed(value, std::move(order));
}

struct Matrices {
  Dims a;  // with at least two axes
  Dims b;
  Dims result;
};

Matrices matrices_of(const GradientContext& context) {
  Matrices matrices = {context.input_dims(0), context.input_dims(1), context.output_dims()};
  const bool is_row = matrices.a.size() == 1;
  const bool is_column = matrices.b.size() == 1;
  if (is_row) matrices.a.insert(matrices.a.begin(), 1);
  if (is_column) matrices.b.push_back(1);
  if (is_row) {
    matrices.result.insert(matrices.result.end() - (is_column ? 0 : 1), 1);
  }
  if (is_column) matrices.result.push_back(1);
  return matrices;
}

// `left`·`right`, whose batches are broadcast, summed to the dimensions of one operand.
void give_product(GradientContext& context, std::size_t input, ValueId left, ValueId right,
                  Dims batch, const Dims& matrix) {
  const ValueId product = context.node("MatMul", {left, right});
  batch.resize(batch.size() - 2);
  batch.push_back(matrix[matrix.size() - 2]);
  batch.push_back(matrix.back());
  const ValueId summed = context.sum_to(product, batch, matrix);
  context.give(input, context.reshaped(summed, context.input_dims(input)));
}

// One matrix for all samples: they are rows of one large product.
void give_shared_weight(GradientContext& context, ValueId gradient, const Matrices& matrices) {
  const std::int64_t rows = kernels::product_or_zero(matrices.result) / matrices.result.back();
  const ValueId inputs = context.reshaped(context.in(0), {rows, matrices.a.back()});
  const ValueId gradients = context.reshaped(gradient, {rows, matrices.result.back()});
  const ValueId product = context.node("Gemm", {inputs, gradients}, {{"transA", std::int64_t{1}}});
  context.give(1, context.reshaped(product, context.input_dims(1)));
}

void matrix_product(GradientContext& context) {
  const Matrices matrices = matrices_of(context);
  if (kernels::product_or_zero(matrices.result) == 0) context.fail("it has no elements");
  const ValueId gradient = context.reshaped(context.gradient(), matrices.result);
  if (context.wants(0)) {
    const ValueId b = context.reshaped(context.in(1), matrices.b);
    give_product(context, 0, gradient, with_last_two_swapped(context, b, matrices.b.size()),
                 matrices.result, matrices.a);
  }
  if (!context.wants(1)) return;
  if (matrices.b.size() == 2) return give_shared_weight(context, gradient, matrices);
  const ValueId a = context.reshaped(context.in(0), matrices.a);
  give_product(context, 1, with_last_two_swapped(context, a, matrices.a.size()), gradient,
               matrices.result, matrices.b);
}

// first'·second', scaled as the node's own product.
ValueId scaled_product(GradientContext& context, ValueId first, bool first_transposed,
                       ValueId second, bool second_transposed) {
  return context.node("Gemm", {first, second},
                      {{"alpha", context.node().float_or("alpha", 1.0f)},
                       {"transA", std::int64_t{first_transposed ? 1 : 0}},
                       {"transB", std::int64_t{second_transposed ? 1 : 0}}});
}

void gemm(GradientContext& context) {
  const ValueId gradient = context.gradient();
  const bool a_transposed = context.node().int_or("transA", 0) != 0;
  const bool b_transposed = context.node().int_or("transB", 0) != 0;
  const ValueId a = context.in(0);
  const ValueId b = context.in(1);
  if (context.wants(0)) {
    context.give(0, a_transposed ? scaled_product(context, b, b_transposed, gradient, true)
                                 : scaled_product(context, gradient, false, b, !b_transposed));
  }
  if (context.wants(1)) {
    context.give(1, b_transposed ? scaled_product(context, gradient, true, a, a_transposed)
                                 : scaled_product(context, a, !a_transposed, gradient, false));
  }
  if (context.wants(2)) {
    const double beta = static_cast<double>(context.node().float_or("beta", 1.0f));
    context.give_broadcast(2, context.times(gradient, beta));
  }
}

}  // namespace

void add_matrix_gradients(GradientTable& table) {
  table["MatMul"] = matrix_product;
  table["Gemm"] = gemm;
}

}  // namespace assay::transform
