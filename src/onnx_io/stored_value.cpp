#include "onnx_io/stored_value.h"

#include "assay/onnx.h"
#include "base/fail.h"
#include "base/mapped_file.h"
#include "onnx_io/external_data.h"
#include "onnx_io/schema.h"
#include "onnx_io/tensor_reader.h"

namespace assay {

namespace onnx {

namespace {

Tensor read_tensor_only(std::string_view message, const Source& source) {
  ExternalFiles none;
  return read_tensor(message, source, none).tensor;
}

[[noreturn]] void fail_unsupported(int field) {
  fail_bad_input("field {}: only tensors, and sequences and optionals of them, can be read", field);
}

StoredValue read_sequence(std::string_view message, const Source& source) {
  StoredValue value;
  value.kind = StoredValue::Kind::Sequence;
  for (FieldReader field(message, source, "a sequence"); field.next();) {
    if (field.number() <= container_field::kElementType) continue;
    if (field.number() != container_field::kTensor) fail_unsupported(field.number());
    value.tensors.push_back(read_tensor_only(field.bytes(), source));
  }
  return value;
}

StoredValue read_optional(std::string_view message, const Source& source) {
  StoredValue value;
  for (FieldReader field(message, source, "an optional"); field.next();) {
    if (field.number() <= container_field::kElementType) continue;
    if (field.number() == container_field::kTensor) {
      value = {StoredValue::Kind::Tensor, {read_tensor_only(field.bytes(), source)}};
    } else if (field.number() == container_field::kSequence) {
      value = read_sequence(field.bytes(), source);
    } else {
      fail_unsupported(field.number());
    }
  }
  return value;
}

StoredValue read_message(const Source& source, const ValueType& type) {
  switch (type.kind) {
    case ValueType::Kind::Tensor:
      return {StoredValue::Kind::Tensor, {read_tensor_only(source.bytes, source)}};
    case ValueType::Kind::Sequence:
      return read_sequence(source.bytes, source);
    case ValueType::Kind::Optional:
      return read_optional(source.bytes, source);
    default:
      fail_bad_input("values of type {} cannot be read", type.to_string());
  }
}

}  // namespace

StoredValue read_stored_value(const std::filesystem::path& path, const ValueType& type) {
  const auto file = MappedFile::open(path);
  const Source source{{reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()},
                      mapped_storage(file)};
  try {
    StoredValue value = read_message(source, type);
    file->check_intact();
    return value;
  } catch (const Error& error) {
    file->check_intact();  // its error says more than one about the zeros read instead
    throw Error(error.kind(), fmt::format("{}: {}", path.string(), error.what()));
  }
}

}  // namespace onnx

Tensor read_onnx_tensor(const std::filesystem::path& path) {
  return onnx::read_stored_value(path, tensor_type(DataType::Undefined)).tensors.front();
}

}  // namespace assay
