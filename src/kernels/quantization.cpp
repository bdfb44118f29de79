// QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear: with one scale for all elements, one
// for each index of an axis, or one for each block along it.
#include "kernels/quantization.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "kernels/elements.h"
#include "kernels/families.h"
#include "kernels/float8.h"
#include "kernels/lanes.h"
#include "kernels/numbers.h"
#include "kernels/real.h"

namespace assay::kernels {

namespace {

// Two elements share a byte, the first in its lower half.
Tensor packed_nibbles(DataType type, Dims dims, const std::vector<double>& numbers) {
  const double low = type == DataType::Int4 ? -8 : 0;
  std::vector<std::byte> bytes((numbers.size() + 1) / 2);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double number = std::clamp(numbers[i], low, low + 15);
    const auto nibble = static_cast<unsigned>(from_real<std::int8_t>(number)) & 0xf;
    bytes[i / 2] |= static_cast<std::byte>(i % 2 == 0 ? nibble : nibble << 4);
  }
  return Tensor(type, std::move(dims), heap_storage(std::move(bytes)));
}

Tensor float8_tensor(DataType type, Dims dims, const std::vector<double>& numbers, bool saturates) {
  std::vector<std::uint8_t> codes;
  codes.reserve(numbers.size());
  for (const double number : numbers)
    codes.push_back(float_to_float8(type, static_cast<float>(number), saturates));
  return Tensor::of<std::uint8_t>(type, std::move(dims), codes);
}

std::vector<double> load_quantized(const Tensor& tensor) {
  if (!is_float8(tensor.type())) return tensor.to_double();
  std::vector<double> numbers;
  for (const std::uint8_t code : tensor.to_vector<std::uint8_t>())
    numbers.push_back(static_cast<double>(float8_to_float(tensor.type(), code)));
  return numbers;
}

// Which scale and zero point an element has.
class ScaleMap {
 public:
  ScaleMap(const KernelCall& call, const Dims& dims, const Tensor& scale) {
    if (scale.elements() == 1) return;
    const std::int64_t given = call.node.int_or("axis", 1);
    const auto axis = normalized_axis(given, dims.size());
    if (!axis) call.fail("axis {} is out of range for {}", given, join_dims(dims));
    lanes_ = lanes_along(dims, *axis);
    block_ = call.node.int_or("block_size", 0);
    Dims wanted = {dims[*axis]};
    if (block_ != 0) {
      if (block_ < 0) call.fail("block_size {} is negative", block_);
      wanted = dims;
      blocks_ = wanted[*axis] = dims[*axis] / block_ + (dims[*axis] % block_ == 0 ? 0 : 1);
    }
    if (scale.dims() != wanted)
      call.fail("a scale of {} does not fit, {} would", join_dims(scale.dims()), join_dims(wanted));
    is_for_all_ = false;
  }

  std::size_t of(std::size_t element) const {
    if (is_for_all_) return 0;
    const auto position = static_cast<std::int64_t>(element);
    const std::int64_t along = position / lanes_.inner % lanes_.length;
    if (block_ == 0) return static_cast<std::size_t>(along);
    const std::int64_t outer = position / lanes_.inner / lanes_.length;
    return static_cast<std::size_t>((outer * blocks_ + along / block_) * lanes_.inner +
                                    position % lanes_.inner);
  }

 private:
  bool is_for_all_ = true;
  Lanes lanes_;
  std::int64_t block_ = 0;
  std::int64_t blocks_ = 0;
};

// Input 2 as numbers; zeros where it is left out.
std::vector<double> zero_points(const KernelCall& call, const Tensor& scale) {
  if (!call.has(2)) return std::vector<double>(scale.elements());
  if (call.input(2).elements() != scale.elements())
    call.fail("there are {} scales and {} zero points", scale.elements(), call.input(2).elements());
  return load_quantized(call.input(2));
}

DataType quantized_type(const KernelCall& call) {
  if (call.has(2)) return call.input(2).type();
  const std::int64_t given = call.node.int_or("output_dtype", 0);
  if (given == 0) return DataType::UInt8;
  const auto type = data_type_from_onnx(given);
  if (!type) call.fail("attribute 'output_dtype' names no element type");
  return *type;
}

// The quotient is rounded to float first, as every engine does: it decides where halves lie.
double quotient(double number, double scale) {
  return static_cast<double>(static_cast<float>(number) / static_cast<float>(scale));
}

std::vector<Tensor> quantize(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const Tensor& scale = call.input(1);
  const ScaleMap map(call, input.dims(), scale);
  const auto scales = scale.to_double();
  const auto zeros = zero_points(call, scale);
  const DataType type = quantized_type(call);
  auto values = input.to_double();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = quotient(values[i], scales[map.of(i)]);
    if (!is_float8(type)) values[i] = std::nearbyint(values[i]) + zeros[map.of(i)];
  }
  if (is_float8(type))
    return {float8_tensor(type, input.dims(), values, call.node.int_or("saturate", 1) != 0)};
  return {store_saturated(call, type, input.dims(), values)};
}

std::vector<Tensor> dequantize(const KernelCall& call) {
  const Tensor& input = call.input(0);
  const Tensor& scale = call.input(1);
  if (call.has(2) && call.input(2).type() != input.type())
    call.fail("the zero point is {}, the input {}", name(call.input(2).type()), name(input.type()));
  const ScaleMap map(call, input.dims(), scale);
  const auto scales = load_real(call, scale);
  const auto zeros = zero_points(call, scale);
  auto values = load_quantized(input);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = (values[i] - zeros[map.of(i)]) * scales[map.of(i)];
  return {store_real(scale.type(), input.dims(), values)};
}

std::vector<Tensor> quantize_dynamically(const KernelCall& call) {
  const Tensor& input = call.input(0);
  auto values = load_real(call, input);
  const DynamicRange range = dynamic_range(values);
  for (double& value : values) value = range.quantized(value);
  return {store_saturated(call, DataType::UInt8, input.dims(), values),
          Tensor::of_float({}, {static_cast<float>(range.scale)}),
          store_saturated(call, DataType::UInt8, {}, {range.zero_point})};
}

}  // namespace

double DynamicRange::quantized(double value) const {
  return std::clamp(std::nearbyint(quotient(value, scale)) + zero_point, 0.0, 255.0);
}

double DynamicRange::rounded(double value) const {
  return (quantized(value) - zero_point) * scale;
}

float whole_reciprocal(float scale) {
  return std::max(std::floor(1.0f / scale), 1.0f);
}

DynamicRange dynamic_range(std::span<const double> values) {
  double low = 0, high = 0;
  for (const double value : values) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  DynamicRange range;
  if (high != low) range.scale = static_cast<double>(static_cast<float>(high - low) / 255);
  range.zero_point = std::clamp(std::nearbyint(quotient(-low, range.scale)), 0.0, 255.0);
  return range;
}

double one_number(const KernelCall& call, std::size_t input) {
  if (call.input(input).elements() != 1) call.fail("input {} is not a scalar", input);
  return call.input(input).to_double().front();
}

Tensor dequantized_input(const KernelCall& call, std::size_t input) {
  const Tensor& tensor = call.input(input);
  const double scale = one_number(call, input + 1);
  const double zero_point = call.has(input + 2) ? one_number(call, input + 2) : 0;
  auto values = tensor.to_double();
  for (double& value : values) value = (value - zero_point) * scale;
  return store_real(DataType::Float64, tensor.dims(), values);
}

Tensor quantized_result(const KernelCall& call, DataType type, const Tensor& result,
                        std::size_t scale_input) {
  const double scale = one_number(call, scale_input);
  const bool has_zero_point = call.has(scale_input + 1);
  const double zero_point = has_zero_point ? one_number(call, scale_input + 1) : 0;
  auto values = load_real(call, result);
  for (double& value : values) {
    const auto rounded_quotient = static_cast<float>(value / scale);  // halves are halves again
    value = std::nearbyint(static_cast<double>(rounded_quotient)) + zero_point;
  }
  if (has_zero_point) type = call.input(scale_input + 1).type();
  return store_saturated(call, type, result.dims(), values);
}

Tensor store_saturated(const KernelCall& call, DataType type, Dims dims,
                       const std::vector<double>& numbers) {
  if (type == DataType::Int4 || type == DataType::UInt4)
    return packed_nibbles(type, std::move(dims), numbers);
  if (!is_integer(type)) call.fail("cannot quantise to {}", name(type));
  return with_number_type(type, [&](auto zero) {
    using T = decltype(zero);
    std::vector<T> values;
    values.reserve(numbers.size());
    for (const double number : numbers) values.push_back(from_real<T>(number));
    return store<T>(type, std::move(dims), values);
  });
}

void add_quantization_kernels(KernelTable& table) {
  table["QuantizeLinear"] = quantize;
  table["DequantizeLinear"] = dequantize;
  table["DynamicQuantizeLinear"] = quantize_dynamically;
}

}  // namespace assay::kernels
