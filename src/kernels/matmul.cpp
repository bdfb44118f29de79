// MatMul and Gemm, and how their operands fit.
#include "base/text.h"
#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/gemm.h"
#include "kernels/product.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

// The dimensions of the matrices and of the axes before them.
struct Operand {
  Dims batch = {};
  std::int64_t rows = 1;
  std::int64_t columns = 1;
};

Operand operand_of(const Dims& dims, bool is_left, bool is_transposed) {
  if (dims.size() == 1) return is_left ? Operand{{}, 1, dims[0]} : Operand{{}, dims[0], 1};
  Operand operand = {Dims(dims.begin(), dims.end() - 2), dims[dims.size() - 2], dims.back()};
  if (is_transposed) std::swap(operand.rows, operand.columns);
  return operand;
}

}  // namespace

BatchedProduct::BatchedProduct(const KernelCall& call, const Dims& a, const Dims& b,
                               TransposedOperands transposed)
    : transposed_{transposed.a && a.size() > 1, transposed.b && b.size() > 1} {
  if (a.empty() || b.empty()) call.fail("cannot multiply scalars");
  const Operand left = operand_of(a, true, transposed.a);
  const Operand right = operand_of(b, false, transposed.b);
  const auto batch = broadcast_dims(left.batch, right.batch);
  if (left.columns != right.rows || !batch)
    call.fail("cannot multiply {} by {}", join_dims(a), join_dims(b));
  rows_ = left.rows;
  inner_ = left.columns;
  columns_ = right.columns;
  batch_ = *batch;
  a_steps_ = broadcast_strides(left.batch, batch_);
  b_steps_ = broadcast_strides(right.batch, batch_);
  result_dims_ = batch_;
  if (a.size() > 1) result_dims_.push_back(rows_);
  if (b.size() > 1) result_dims_.push_back(columns_);
  elements_ = result_elements(call, result_dims_);
}

namespace {

std::vector<Tensor> matrix_product(const KernelCall& call) {
  const Tensor& a = call.input(0);
  const Tensor& b = call.input(1);
  if (a.type() != b.type())
    call.fail("inputs have types {} and {}", name(a.type()), name(b.type()));
  const BatchedProduct product(call, a.dims(), b.dims());
  return with_number_type(a.type(), [&](auto zero) {
    using T = decltype(zero);
    const auto sums = product.multiplied(load<T>(a), load<T>(b));
    return std::vector<Tensor>{store<T>(a.type(), product.result_dims(), rounded_to<T>(sums))};
  });
}

std::vector<Tensor> general_product(const KernelCall& call) {
  const Tensor& a = call.input(0);
  return with_number_type(a.type(), [&](auto zero) {
    using T = decltype(zero);
    const GemmResult result = gemm<T>(call);
    return std::vector<Tensor>{store<T>(a.type(), result.dims, rounded_to<T>(result.values))};
  });
}

}  // namespace

void add_matmul_kernels(KernelTable& table) {
  table["MatMul"] = matrix_product;
  table["Gemm"] = general_product;
}

}  // namespace assay::kernels
