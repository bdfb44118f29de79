// ConvInteger, MatMulInteger, QLinearConv and QLinearMatMul: sums of 8-bit products, exact, and for
// the latter two scaled to 8 bits again.
#include "kernels/integer_products.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "kernels/convolution.h"
#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/gemm.h"
#include "kernels/quantization.h"
#include "kernels/real.h"
#include "kernels/strided_walk.h"

namespace assay::kernels {

namespace {

Dims dims_of_vector(const Dims& dims, ScaleVector kind, std::size_t rank) {
  const bool is_vector = dims.size() == 1 && dims[0] != 1;
  if (!is_vector) return dims.size() == 1 ? Dims{} : dims;
  if (kind == ScaleVector::Columns) return dims;
  Dims column(kind == ScaleVector::Rows ? 2 : rank, 1);
  column[0] = dims[0];
  return column;
}

void check_is_8_bit(const KernelCall& call, const Tensor& tensor) {
  if (tensor.type() != DataType::Int8 && tensor.type() != DataType::UInt8)
    call.fail("needs int8 or uint8, got {}", name(tensor.type()));
}

}  // namespace

SpreadNumbers spread_over(const KernelCall& call, std::size_t input, const Dims& dims,
                          ScaleVector kind) {
  const Tensor& tensor = call.input(input);
  const Dims own = dims_of_vector(tensor.dims(), kind, dims.size());
  if (broadcast_dims(dims, own) != dims)
    call.fail("input {} of {} does not fit {}", input, join_dims(tensor.dims()), join_dims(dims));
  return {tensor.to_double(), broadcast_strides(own, dims)};
}

Sums centred(const KernelCall& call, const Tensor& tensor, std::size_t zero_point,
             ScaleVector kind) {
  check_is_8_bit(call, tensor);
  const auto elements = tensor.to_int64();
  Sums values(elements.begin(), elements.end());
  if (!call.has(zero_point)) return values;
  if (call.input(zero_point).type() != tensor.type())
    call.fail("input {} is of another type than what it is the zero point of", zero_point);
  const SpreadNumbers zeros = spread_over(call, zero_point, tensor.dims(), kind);
  const StridedWalk<1> walk(tensor.dims(), {zeros.strides});
  walk.for_each([&](std::size_t i, auto at) {
    values[i] -= static_cast<std::uint64_t>(static_cast<std::int64_t>(zeros.numbers[at[0]]));
  });
  return values;
}

namespace {

// values *= the scale at `input`, one for all or one for each row or column of the result.
void scale_by(const KernelCall& call, std::size_t input, ScaleVector kind, ScaledProduct& product) {
  const SpreadNumbers scale = spread_over(call, input, product.dims, kind);
  const StridedWalk<1> walk(product.dims, {scale.strides});
  walk.for_each([&](std::size_t i, auto at) { product.values[i] *= scale.numbers[at[0]]; });
}

// sums += input `input`, an int32 broadcast to the result.
void add_to_sums(const KernelCall& call, std::size_t input, const Dims& dims, Sums& sums) {
  const auto addends = call.input(input).to_int64();
  const StridedWalk<1> walk(dims, {strides_over(call, call.input(input), dims)});
  walk.for_each(
      [&](std::size_t i, auto at) { sums[i] += static_cast<std::uint64_t>(addends[at[0]]); });
}

}  // namespace

ScaledProduct scaled_product(const KernelCall& call, const ProductInputs& inputs,
                             TransposedOperands flips, std::optional<std::size_t> addend) {
  const Tensor& a = call.input(inputs.a);
  const Tensor& b = call.input(inputs.b);
  const BatchedProduct product(call, a.dims(), b.dims(), flips);
  Sums sums = product.multiplied(
      centred(call, a, inputs.a_zero_point, flips.a ? ScaleVector::Columns : ScaleVector::Rows),
      centred(call, b, inputs.b_zero_point, flips.b ? ScaleVector::Rows : ScaleVector::Columns));
  ScaledProduct result = {product.result_dims(), std::vector<double>(sums.size())};
  if (addend && call.has(*addend)) add_to_sums(call, *addend, result.dims, sums);
  std::ranges::transform(sums, result.values.begin(), as_real);
  scale_by(call, inputs.a_scale, ScaleVector::Rows, result);
  scale_by(call, inputs.b_scale, ScaleVector::Columns, result);
  return result;
}

namespace {

Tensor as_int32(const Dims& dims, const Sums& sums) {
  return Tensor::of<std::int32_t>(DataType::Int32, dims, rounded_to<std::int32_t>(sums));
}

std::vector<Tensor> integer_convolution(const KernelCall& call) {
  const Convolution convolution = convolution_of(call, call.input(0).dims(), call.input(1).dims());
  if (call.has(2)) one_number(call, 2);  // the padding has its value, so there must be only one
  const Sums sums =
      convolved(call, convolution, centred(call, call.input(0), 2, ScaleVector::Columns),
                centred(call, call.input(1), 3, ScaleVector::Channels));
  return {as_int32(convolution.output_dims(), sums)};
}

std::vector<Tensor> integer_product(const KernelCall& call) {
  const BatchedProduct product(call, call.input(0).dims(), call.input(1).dims());
  const Sums sums = product.multiplied(centred(call, call.input(0), 2, ScaleVector::Rows),
                                       centred(call, call.input(1), 3, ScaleVector::Columns));
  return {as_int32(product.result_dims(), sums)};
}

// The zero point of the result, input 7, tells its type.
DataType result_type(const KernelCall& call) {
  return call.has(7) ? call.input(7).type() : call.input(0).type();
}

// Input 8, an int32 for each channel, added where it is given.
void add_bias(const KernelCall& call, const Convolution& convolution, Sums& sums) {
  if (!call.has(8) || sums.empty()) return;
  const auto bias = call.input(8).to_int64();
  if (call.input(8).elements() != convolution.output_channels())
    call.fail("the bias holds {} numbers for {} channels", bias.size(),
              convolution.output_channels());
  add_to_planes(sums, Sums(bias.begin(), bias.end()), convolution.grid.output_elements());
}

// What a sum is multiplied by before it is rounded, for all channels or for each.
std::vector<double> channel_factors(const KernelCall& call, std::int64_t channels) {
  auto factors = call.input(4).to_double();
  if (factors.size() != 1 && call.input(4).elements() != channels)
    call.fail("the weight has {} scales for {} channels", factors.size(), channels);
  for (double& factor : factors) factor *= one_number(call, 1) / one_number(call, 6);
  return factors;
}

// Inputs: x, its scale and zero point; w, its own; y's scale and zero point; the bias.
std::vector<Tensor> quantized_convolution(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const Tensor& weight = call.input(3);
  const Convolution convolution = convolution_of(call, input.dims(), weight.dims());
  one_number(call, 2);  // the padding has the zero point's value, so there must be only one
  Sums sums = convolved(call, convolution, centred(call, input, 2, ScaleVector::Columns),
                        centred(call, weight, 5, ScaleVector::Channels));
  add_bias(call, convolution, sums);
  const std::size_t plane = convolution.grid.output_elements();
  const auto factors = channel_factors(call, convolution.output_channels());
  const double zero_point = call.has(7) ? one_number(call, 7) : 0;
  std::vector<double> values(sums.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double sum = as_real(sums[i]);
    values[i] = std::nearbyint(sum * factors[i / plane % factors.size()]) + zero_point;
  }
  return {store_saturated(call, result_type(call), convolution.output_dims(), values)};
}

// Inputs: a, its scale and zero point; b, its own; y's scale and zero point.
std::vector<Tensor> quantized_product(const KernelCall& call) {
  const Tensor& a = call.input(0);
  const Tensor& b = call.input(3);
  const BatchedProduct product(call, a.dims(), b.dims());
  const Dims& dims = product.result_dims();
  const Sums sums = product.multiplied(centred(call, a, 2, ScaleVector::Rows),
                                       centred(call, b, 5, ScaleVector::Columns));
  const SpreadNumbers a_scale = spread_over(call, 1, dims, ScaleVector::Rows);
  const SpreadNumbers b_scale = spread_over(call, 4, dims, ScaleVector::Columns);
  const SpreadNumbers y_scale = spread_over(call, 6, dims, ScaleVector::Rows);
  const SpreadNumbers y_zero = spread_over(call, 7, dims, ScaleVector::Rows);
  std::vector<double> values(sums.size());
  const StridedWalk<4> walk(dims,
                            {a_scale.strides, b_scale.strides, y_scale.strides, y_zero.strides});
  walk.for_each([&](std::size_t i, auto at) {
    const double sum = as_real(sums[i]);
    const double factor = a_scale.numbers[at[0]] * b_scale.numbers[at[1]] / y_scale.numbers[at[2]];
    values[i] = std::nearbyint(sum * factor) + y_zero.numbers[at[3]];
  });
  return {store_saturated(call, result_type(call), dims, values)};
}

}  // namespace

void add_integer_product_kernels(KernelTable& table) {
  table["ConvInteger"] = integer_convolution;
  table["MatMulInteger"] = integer_product;
  table["QLinearConv"] = quantized_convolution;
  table["QLinearMatMul"] = quantized_product;
}

}  // namespace assay::kernels
