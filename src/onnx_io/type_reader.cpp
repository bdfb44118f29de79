#include "onnx_io/type_reader.h"

#include <algorithm>
#include <cctype>

#include "base/fail.h"
#include "onnx_io/schema.h"
#include "onnx_io/tensor_reader.h"

namespace assay::onnx {

namespace {

constexpr int kDeepestType = 16;

// Some exporters call every open dimension "?", "-1" or "None": the same name, but not the same
// number.
bool is_anonymous(std::string_view name) {
  const auto is_sign = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; };
  return name == "None" || name == "-1" || std::ranges::all_of(name, is_sign);
}

// Files mark an open dimension by a name, by nothing, or by a negative number.
Dim read_dim(std::string_view message, const Source& source) {
  Dim dim;
  for (FieldReader field(message, source, "a dimension"); field.next();) {
    if (field.number() == dim_field::kValue) {
      dim = field.integer() < 0 ? Dim() : Dim(field.integer());
    } else if (field.number() == dim_field::kSymbol) {
      // Types are copied with every captured value; no real dimension has a name this long.
      constexpr std::size_t kLongestSymbol = 1024;
      if (field.text().size() > kLongestSymbol) {
        fail_bad_input("a dimension's name is {} bytes long", field.text().size());
      }
      dim = is_anonymous(field.text()) ? Dim() : Dim::symbol(std::string(field.text()));
    }
  }
  return dim;
}

Shape read_shape(std::string_view message, const Source& source) {
  Shape shape;
  for (FieldReader field(message, source, "a shape"); field.next();) {
    if (field.number() != shape_field::kDim) continue;
    if (shape.rank() == kLargestRank) {
      fail_bad_input("a declared shape has more than {} dimensions", kLargestRank);
    }
    shape.push_back(read_dim(field.bytes(), source));
  }
  return shape;
}

ValueType read_tensor_type(std::string_view message, const Source& source, ValueType::Kind kind) {
  ValueType type;
  type.kind = kind;
  for (FieldReader field(message, source, "a tensor type"); field.next();) {
    if (field.number() == tensor_type_field::kElement) {
      type.element = data_type_or_fail(field.integer());
    } else if (field.number() == tensor_type_field::kShape) {
      type.shape = read_shape(field.bytes(), source);
    }
  }
  return type;
}

ValueType read_type_at(std::string_view message, const Source& source, int depth);

ValueType read_container(std::string_view message, const Source& source, ValueType::Kind kind,
                         int depth) {
  ValueType type;
  type.kind = kind;
  const bool is_map = kind == ValueType::Kind::Map;
  const int inner_field = is_map ? container_type_field::kMapValue : container_type_field::kElement;
  for (FieldReader field(message, source, "a container type"); field.next();) {
    if (field.number() == inner_field) {
      type.inner =
          std::make_shared<const ValueType>(read_type_at(field.bytes(), source, depth + 1));
    } else if (is_map && field.number() == container_type_field::kMapKey) {
      type.element = data_type_or_fail(field.integer());
    }
  }
  return type;
}

ValueType read_type_at(std::string_view message, const Source& source, int depth) {
  if (depth > kDeepestType) {
    fail_bad_input("a declared type is nested more than {} deep", kDeepestType);
  }
  ValueType type;
  for (FieldReader field(message, source, "a type"); field.next();) {
    switch (field.number()) {
      case type_field::kTensor:
        type = read_tensor_type(field.bytes(), source, ValueType::Kind::Tensor);
        break;
      case type_field::kSparseTensor:
        type = read_tensor_type(field.bytes(), source, ValueType::Kind::SparseTensor);
        break;
      case type_field::kSequence:
        type = read_container(field.bytes(), source, ValueType::Kind::Sequence, depth);
        break;
      case type_field::kOptional:
        type = read_container(field.bytes(), source, ValueType::Kind::Optional, depth);
        break;
      case type_field::kMap:
        type = read_container(field.bytes(), source, ValueType::Kind::Map, depth);
        break;
      case type_field::kOpaque:
        fail_bad_input("opaque types are not supported");
      default:
        break;
    }
  }
  return type;
}

}  // namespace

ValueType read_type(std::string_view message, const Source& source) {
  return read_type_at(message, source, 1);
}

}  // namespace assay::onnx
