#include "onnx_io/rope.h"

#include <cstring>
#include <iterator>
#include <protozero/varint.hpp>

#include "onnx_io/wire.h"

namespace assay::onnx {

namespace {

constexpr std::size_t kLargestCopiedTensor = 1024;

}  // namespace

void Rope::add_varint(std::uint64_t value) {
  protozero::write_varint(std::back_inserter(copied_), value);
}

void Rope::add_tag(int field, int wire_type) {
  add_varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(wire_type));
}

void Rope::add_integer(int field, std::int64_t value) {
  add_tag(field, static_cast<int>(WireType::Varint));
  add_varint(static_cast<std::uint64_t>(value));
}

void Rope::add_real(int field, float value) {
  add_tag(field, static_cast<int>(WireType::Fixed32));
  char bytes[sizeof(value)] = {};
  std::memcpy(bytes, &value, sizeof(value));
  copied_.append(bytes, sizeof(value));
}

void Rope::add_bytes(int field, std::string_view bytes) {
  add_tag(field, static_cast<int>(WireType::Bytes));
  add_varint(bytes.size());
  copied_.append(bytes);
}

void Rope::add_message(int field, const Rope& message) {
  add_tag(field, static_cast<int>(WireType::Bytes));
  add_varint(message.size());
  for (const auto& payload : message.payloads_) {
    payloads_.push_back({copied_.size() + payload.position, payload.tensor});
  }
  copied_.append(message.copied_);
  payload_bytes_ += message.payload_bytes_;
}

void Rope::add_payload(int field, const Tensor& tensor) {
  if (tensor.byte_size() <= kLargestCopiedTensor) {
    const auto bytes = tensor.bytes();
    return add_bytes(field, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  add_tag(field, static_cast<int>(WireType::Bytes));
  add_varint(tensor.byte_size());
  payloads_.push_back({copied_.size(), tensor});
  payload_bytes_ += tensor.byte_size();
}

}  // namespace assay::onnx
