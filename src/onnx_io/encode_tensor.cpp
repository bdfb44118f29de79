#include "base/round.h"
#include "onnx_io/encode.h"
#include "onnx_io/schema.h"

namespace assay::onnx {

namespace {

constexpr std::size_t kLargestInlineBytes = 1024;
// Large weights begin a page, so that they can be mapped; small ones a cache line.
constexpr std::size_t kFewestPageAlignedBytes = 4096;
constexpr std::uint64_t kPageAlignment = 4096;
constexpr std::uint64_t kSmallAlignment = 64;

Rope encode_entry(std::string_view key, std::string_view value) {
  Rope entry;
  entry.add_bytes(entry_field::kKey, key);
  entry.add_bytes(entry_field::kValue, value);
  return entry;
}

void add_external(const Tensor& tensor, ExternalPlan& external, Rope& message) {
  const auto offset = std::to_string(external.place(tensor));
  const auto length = std::to_string(tensor.byte_size());
  message.add_message(tensor_field::kExternalData, encode_entry("location", external.location()));
  message.add_message(tensor_field::kExternalData, encode_entry("offset", offset));
  message.add_message(tensor_field::kExternalData, encode_entry("length", length));
  message.add_integer(tensor_field::kDataLocation, 1);
}

Rope encode_dim(const Dim& dim) {
  Rope message;
  if (dim.is_known()) message.add_integer(dim_field::kValue, dim.value());
  if (dim.is_symbol()) message.add_bytes(dim_field::kSymbol, dim.symbol_name());
  return message;
}

Rope encode_shape(const Shape& shape) {
  Rope message;
  for (const Dim& dim : shape) message.add_message(shape_field::kDim, encode_dim(dim));
  return message;
}

Rope encode_tensor_type(const ValueType& type) {
  Rope message;
  message.add_integer(tensor_type_field::kElement, static_cast<std::int64_t>(type.element));
  if (type.shape) message.add_message(tensor_type_field::kShape, encode_shape(*type.shape));
  return message;
}

Rope encode_container(const ValueType& type) {
  Rope message;
  const bool is_map = type.kind == ValueType::Kind::Map;
  if (is_map) {
    message.add_integer(container_type_field::kMapKey, static_cast<std::int64_t>(type.element));
  }
  const int inner = is_map ? container_type_field::kMapValue : container_type_field::kElement;
  if (type.inner) message.add_message(inner, encode_type(*type.inner));
  return message;
}

}  // namespace

bool ExternalPlan::takes(const Tensor& tensor) {
  return tensor.byte_size() > kLargestInlineBytes;
}

std::uint64_t ExternalPlan::place(const Tensor& tensor) {
  const bool is_large = tensor.byte_size() >= kFewestPageAlignedBytes;
  const std::uint64_t alignment = is_large ? kPageAlignment : kSmallAlignment;
  const std::uint64_t offset = rounded_up(size_, alignment);
  placed_.push_back({tensor, offset});
  size_ = offset + tensor.byte_size();
  return offset;
}

Rope encode_tensor(const Tensor& tensor, std::string_view name, ExternalPlan* external) {
  Rope message;
  for (const std::int64_t dim : tensor.dims()) message.add_integer(tensor_field::kDims, dim);
  message.add_integer(tensor_field::kDataType, static_cast<std::int64_t>(tensor.type()));
  if (!name.empty()) message.add_bytes(tensor_field::kName, name);
  if (tensor.type() == DataType::String) {
    for (const auto& text : tensor.strings()) message.add_bytes(tensor_field::kStringData, text);
  } else if (external != nullptr && ExternalPlan::takes(tensor)) {
    add_external(tensor, *external, message);
  } else {
    message.add_payload(tensor_field::kRawData, tensor);
  }
  return message;
}

Rope encode_type(const ValueType& type) {
  Rope message;
  switch (type.kind) {
    case ValueType::Kind::Tensor:
      if (type == ValueType()) break;
      message.add_message(type_field::kTensor, encode_tensor_type(type));
      break;
    case ValueType::Kind::SparseTensor:
      message.add_message(type_field::kSparseTensor, encode_tensor_type(type));
      break;
    case ValueType::Kind::Sequence:
      message.add_message(type_field::kSequence, encode_container(type));
      break;
    case ValueType::Kind::Optional:
      message.add_message(type_field::kOptional, encode_container(type));
      break;
    case ValueType::Kind::Map:
      message.add_message(type_field::kMap, encode_container(type));
      break;
  }
  return message;
}

}  // namespace assay::onnx
