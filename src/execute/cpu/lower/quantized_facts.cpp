#include "execute/cpu/lower/quantized_facts.h"

#include <algorithm>

#include "base/checked.h"

namespace assay::cpu {

bool is_8_bit(DataType type) {
  return type == DataType::Int8 || type == DataType::UInt8;
}

DataType type_of(const Lowering& lowering, ValueId id) {
  if (const Tensor* tensor = lowering.constant(id)) return tensor->type();
  return lowering.graph().value(id).type.element;
}

bool is_8_bit(const Lowering& lowering, ValueId id) {
  return id.is_valid() && !lowering.is_dynamic(id) && is_8_bit(type_of(lowering, id));
}

Scale8 scale8(double scale, double zero_point, DataType type) {
  return {.scale = static_cast<float>(scale),
          .zero_point = static_cast<std::int32_t>(zero_point),
          .is_signed = type == DataType::Int8};
}

std::optional<Scale8> scale8_of(const Lowering& lowering, ValueId scale, ValueId zero_point,
                                DataType type) {
  const auto factor = lowering.number(scale);
  const auto zero = zero_point.is_valid() ? lowering.number(zero_point) : 0.0;
  if (!factor || !zero || !is_8_bit(type)) return {};
  return scale8(*factor, *zero, type);
}

namespace {

std::optional<std::vector<double>> zero_points_of(const Lowering& lowering, ValueId id) {
  if (!id.is_valid()) return std::vector<double>{0};
  const Tensor* tensor = lowering.constant(id);
  if (tensor == nullptr) return {};
  return tensor->to_double();
}

}  // namespace

std::optional<Tensor> signed_weights(const Lowering& lowering, ValueId weights, ValueId zero_point,
                                     std::size_t axis) {
  const Tensor* tensor = lowering.constant(weights);
  const auto zeros = zero_points_of(lowering, zero_point);
  if (tensor == nullptr || !is_8_bit(tensor->type()) || !zeros || zeros->empty()) return {};
  const Dims dims = tensor->dims();
  const bool are_all_zero = std::ranges::all_of(*zeros, [](double zero) { return zero == 0; });
  if (tensor->type() == DataType::Int8 && are_all_zero) return *tensor;
  if (axis >= dims.size()) return {};
  const std::int64_t inner = checked_product(std::span(dims).subspan(axis + 1)).value_or(0);
  const auto bytes = tensor->bytes();
  std::vector<std::int8_t> numbers(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto along = static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner % dims[axis]);
    const double zero = (*zeros)[zeros->size() == 1 ? 0 : along];
    const int stored = tensor->type() == DataType::Int8 ? static_cast<std::int8_t>(bytes[i])
                                                        : static_cast<int>(bytes[i]);
    const int number = stored - static_cast<int>(zero);
    if (number < -128 || number > 127) return {};
    numbers[i] = static_cast<std::int8_t>(number);
  }
  return Tensor::of<std::int8_t>(DataType::Int8, dims, numbers);
}

std::optional<ShiftedWeights> shifted_weights(const Lowering& lowering, ValueId weights,
                                              ValueId zero_point, std::size_t axis) {
  if (auto whole = signed_weights(lowering, weights, zero_point, axis))
    return ShiftedWeights{.numbers = std::move(*whole)};
  const Tensor* tensor = lowering.constant(weights);
  const auto zeros = zero_points_of(lowering, zero_point);
  if (tensor == nullptr || !is_8_bit(tensor->type()) || !zeros || axis >= tensor->dims().size())
    return {};
  const auto count = static_cast<std::size_t>(tensor->dims()[axis]);
  if (zeros->size() != 1 && zeros->size() != count) return {};
  const bool is_signed = tensor->type() == DataType::Int8;
  ShiftedWeights shifted{.numbers = *tensor};
  if (!is_signed) {
    const auto bytes = tensor->bytes();
    std::vector<std::int8_t> numbers(bytes.size());
    for (std::size_t i = 0; i < bytes.size(); ++i)
      numbers[i] = static_cast<std::int8_t>(static_cast<int>(bytes[i]) - 128);
    shifted.numbers = Tensor::of<std::int8_t>(DataType::Int8, tensor->dims(), numbers);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const double zero = (*zeros)[zeros->size() == 1 ? 0 : i];
    shifted.zero_points.push_back(static_cast<std::int32_t>(zero) - (is_signed ? 0 : 128));
  }
  return shifted;
}

std::vector<float> constant_numbers(const Lowering& lowering, ValueId id) {
  const Tensor* tensor = lowering.constant(id);
  if (tensor == nullptr) return {};
  std::vector<float> numbers;
  for (const double number : tensor->to_double()) numbers.push_back(static_cast<float>(number));
  return numbers;
}

bool is_dense_image(const Placement& placement) {
  return placement.blocked && placement.dims.size() >= 3 && placement.dims.size() <= 5 &&
         *placement.blocked == image_desc(placement.dims, 0, placement.type);
}

Placement dense_placement(Lowering& lowering, ValueId id) {
  const Placement native = lowering.native(id);
  return is_dense_image(native) ? native : lowering.row_major(id);
}

Placement new_dense(Lowering& lowering, bool channels_last, const Dims& dims, DataType type) {
  if (channels_last) return lowering.new_placement(image_desc(dims, 0, type), dims);
  return lowering.with_buffer(row_major_placement({}, type, dims));
}

Placement like(Lowering& lowering, const Placement& placement, const Dims& dims, DataType type) {
  return new_dense(lowering, is_dense_image(placement), dims, type);
}

int threads_for_bytes(const Lowering& lowering, std::int64_t elements) {
  constexpr std::int64_t kBytesWorthSharing = 32 << 10;
  return elements >= kBytesWorthSharing ? lowering.threads() : 1;
}

std::optional<Clipped8> clip_after(const Lowering& lowering, ValueId value) {
  const NodeId reader = lowering.only_reader(value);
  if (!reader.is_valid() || lowering.is_covered(reader)) return {};
  const Node& node = lowering.node(reader);
  if (!node.is("Clip") || node.inputs[0] != value || !is_8_bit(lowering, value)) return {};
  const bool is_signed = type_of(lowering, value) == DataType::Int8;
  Clamp8 clamp = Scale8{.is_signed = is_signed}.range();
  for (const std::size_t i : {1u, 2u}) {
    if (!node.has_input(i)) continue;
    const auto bound = lowering.number(node.inputs[i]);
    if (!bound) return {};
    (i == 1 ? clamp.low : clamp.high) = static_cast<std::int32_t>(*bound);
  }
  return Clipped8{reader, clamp};
}

namespace {

PostOp elementwise(Algorithm algorithm, float alpha, float beta) {
  return {.kind = PostOp::Kind::Eltwise, .algorithm = algorithm, .alpha = alpha, .beta = beta};
}

}  // namespace

std::vector<PostOp> ops_before_storing(const Scale8& to, const std::optional<Clipped8>& clip) {
  std::vector<PostOp> ops;
  const auto zero = static_cast<float>(to.zero_point);
  if (clip) {
    ops.push_back(elementwise(Algorithm::eltwise_clip, static_cast<float>(clip->clamp.low) - zero,
                              static_cast<float>(clip->clamp.high) - zero));
  }
  if (to.zero_point != 0) {
    ops.push_back(elementwise(Algorithm::eltwise_round, 0, 0));
    ops.push_back(elementwise(Algorithm::eltwise_linear, 1, zero));
  }
  return ops;
}

}  // namespace assay::cpu
