// Quantised layers written in float ops, for processors without exact products of 8-bit numbers:
// their vector instructions add pairs of products in 16 bits, which may overflow. Activations stay
// in 8 bits between layers; weights become floats. Results differ from the quantised layer's by
// float rounding only.
#include <cmath>

#include "base/checked.h"
#include "transform/expansion.h"

namespace assay::transform {

namespace {

// Numbers that do not change, with their scale and zero point.
struct StoredNumbers {
  ValueId data, scale, zero_point;  // the last may be missing: 0
};

double number_at(const std::vector<double>& numbers, std::size_t i) {
  return numbers.empty() ? 0 : numbers[numbers.size() == 1 ? 0 : i];
}

// As floats, with one scale, or one for each position along `axis`; invalid where one of them
// changes from run to run.
ValueId as_real_numbers(Expansion& to, const StoredNumbers& stored, std::size_t axis) {
  const Tensor* data = to.constant(stored.data);
  const Tensor* scale = to.constant(stored.scale);
  const Tensor* zero = stored.zero_point.is_valid() ? to.constant(stored.zero_point) : nullptr;
  if (data == nullptr || scale == nullptr || (stored.zero_point.is_valid() && zero == nullptr))
    return {};
  const Dims dims = data->dims();
  if (axis >= dims.size()) return {};
  const std::int64_t inner = checked_product(std::span(dims).subspan(axis + 1)).value_or(0);
  const auto numbers = data->to_double();
  const auto scales = scale->to_double();
  const auto zeros = zero == nullptr ? std::vector<double>{} : zero->to_double();
  std::vector<float> floats(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto along = static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner % dims[axis]);
    floats[i] =
        static_cast<float>((numbers[i] - number_at(zeros, along)) * number_at(scales, along));
  }
  return to.floats(dims, floats);
}

// A bias in units of products of x and w.
ValueId real_bias(Expansion& to, ValueId bias, ValueId x_scale, ValueId w_scale, double factor) {
  const Tensor* sums = to.constant(bias);
  const Tensor* x = to.constant(x_scale);
  const Tensor* w = to.constant(w_scale);
  if (sums == nullptr || x == nullptr || w == nullptr) return {};
  const auto numbers = sums->to_double();
  const auto scales = w->to_double();
  const double unit = factor * x->to_double().front();
  const auto columns = static_cast<std::size_t>(sums->dims().empty() ? 1 : sums->dims().back());
  std::vector<float> floats(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i)
    floats[i] = static_cast<float>(numbers[i] * unit * number_at(scales, i % columns));
  return to.floats(sums->dims(), floats);
}

ValueId dequantized(Expansion& to, ValueId data, ValueId scale, ValueId zero_point) {
  return to.add({"DequantizeLinear", {data, scale, zero_point}}, to.dims(data));
}

bool has_one_scale(const Expansion& to, ValueId scale) {
  return checked_product(to.dims(scale)).value_or(0) == 1;
}

ValueId operand_of(const Node& node, std::size_t i) {
  return node.has_input(i) ? node.inputs[i] : ValueId{};
}

void add_quantized(Expansion& to, Piece layer, ValueId scale, ValueId zero_point) {
  const ValueId result = to.node().outputs[0];
  const ValueId real = to.add(std::move(layer), to.dims(result));
  to.add_as({"QuantizeLinear", {real, scale, zero_point}}, {result});
}

bool expand_quantized_convolution(Expansion& to) {
  const Node& node = to.node();
  const ValueId weights =
      as_real_numbers(to, {node.inputs[3], node.inputs[4], operand_of(node, 5)}, 0);
  const bool has_bias = node.has_input(8);
  const ValueId bias =
      has_bias ? real_bias(to, node.inputs[8], node.inputs[1], node.inputs[4], 1) : ValueId{};
  if (!weights.is_valid() || (has_bias && !bias.is_valid())) return false;
  if (!has_one_scale(to, node.inputs[1])) return false;
  Piece layer{"Conv",
              {dequantized(to, node.inputs[0], node.inputs[1], operand_of(node, 2)), weights},
              node.attributes};
  if (has_bias) layer.inputs.push_back(bias);
  add_quantized(to, std::move(layer), node.inputs[6], operand_of(node, 7));
  return true;
}

bool expand_quantized_matrix_product(Expansion& to) {
  const Node& node = to.node();
  const Dims dims = to.dims(node.inputs[3]);
  if (dims.size() < 2 || !has_one_scale(to, node.inputs[1])) return false;
  ValueId second =
      as_real_numbers(to, {node.inputs[3], node.inputs[4], operand_of(node, 5)}, dims.size() - 1);
  if (!second.is_valid()) {
    if (!has_one_scale(to, node.inputs[4])) return false;
    second = dequantized(to, node.inputs[3], node.inputs[4], operand_of(node, 5));
  }
  const ValueId first = dequantized(to, node.inputs[0], node.inputs[1], operand_of(node, 2));
  add_quantized(to, {"MatMul", {first, second}}, node.inputs[6], operand_of(node, 7));
  return true;
}

bool expand_quantized_gemm(Expansion& to) {
  const Node& node = to.node();
  const bool is_transposed = node.int_or("transB", 0) != 0;
  const ValueId weights = as_real_numbers(to, {node.inputs[3], node.inputs[4], operand_of(node, 5)},
                                          is_transposed ? 0 : 1);
  const auto alpha = static_cast<double>(node.float_or("alpha", 1));
  const bool has_bias = node.has_input(6);
  const ValueId bias =
      has_bias ? real_bias(to, node.inputs[6], node.inputs[1], node.inputs[4], alpha) : ValueId{};
  if (!weights.is_valid() || (has_bias && !bias.is_valid())) return false;
  if (!has_one_scale(to, node.inputs[1])) return false;
  Piece layer{"Gemm",
              {dequantized(to, node.inputs[0], node.inputs[1], operand_of(node, 2)), weights},
              node.attributes};
  if (has_bias) layer.inputs.push_back(bias);
  if (node.has_input(7)) {
    add_quantized(to, std::move(layer), node.inputs[7], operand_of(node, 8));
  } else {
    to.add_as(std::move(layer), node.outputs);
  }
  return true;
}

// The first operand's scale and zero point may be known only at run time.
bool expand_product_to_float(Expansion& to) {
  const Node& node = to.node();
  const ValueId weights =
      as_real_numbers(to, {node.inputs[1], node.inputs[3], operand_of(node, 5)}, 1);
  if (!weights.is_valid() || !has_one_scale(to, node.inputs[2])) return false;
  const Dims dims = to.dims(node.inputs[0]);
  ValueId numbers = to.as_floats(node.inputs[0]);
  if (node.has_input(4)) numbers = to.add({"Sub", {numbers, to.as_floats(node.inputs[4])}}, dims);
  std::vector<Piece> pieces = {{"MatMul", {numbers, weights}},
                               {"Mul", {ValueId{}, node.inputs[2]}}};
  if (node.has_input(6)) pieces.push_back({"Add", {ValueId{}, node.inputs[6]}});
  to.add_chain(std::move(pieces), node.outputs[0]);
  return true;
}

// Bytes as floats and back, which changes none of them.
bool expand_pool_of_bytes(Expansion& to) {
  const Node& node = to.node();
  const bool has_indices = node.outputs.size() > 1 && node.has_output(1);
  if (to.element(node.inputs[0]) != DataType::UInt8 || has_indices) return false;
  const ValueId one = to.number(1);
  const ValueId floats =
      to.add({"DequantizeLinear", {node.inputs[0], one}}, to.dims(node.inputs[0]));
  const ValueId most = to.add({"MaxPool", {floats}, node.attributes}, to.dims(node.outputs[0]));
  to.add_as({"QuantizeLinear", {most, one}}, {node.outputs[0]});
  return true;
}

}  // namespace

bool expand_quantized_layer(Expansion& to) {
  const Node& node = to.node();
  if (node.is("QLinearConv")) return expand_quantized_convolution(to);
  if (node.is("QLinearMatMul")) return expand_quantized_matrix_product(to);
  if (node.is("MaxPool")) return expand_pool_of_bytes(to);
  if (node.domain != kMicrosoftDomain) return false;
  if (node.op == "QGemm") return expand_quantized_gemm(to);
  return node.op == "MatMulIntegerToFloat" && expand_product_to_float(to);
}

}  // namespace assay::transform
