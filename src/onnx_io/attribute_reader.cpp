#include "onnx_io/attribute_reader.h"

#include "base/fail.h"
#include "onnx_io/tensor_reader.h"
#include "onnx_io/type_reader.h"

namespace assay::onnx {

namespace {

// Calls `take` for every occurrence of a repeated field.
template <typename Take>
void each(const AttributeFields& attribute, int number, const Source& source, Take take) {
  for (FieldReader field(attribute.message, source, "an attribute"); field.next();) {
    if (field.number() == number) take(field);
  }
}

std::vector<std::int64_t> read_integers(const AttributeFields& attribute, const Source& source) {
  std::vector<std::int64_t> values;
  each(attribute, attribute_field::kInts, source, [&](const FieldReader& field) {
    field.each_integer([&](std::int64_t value) { values.push_back(value); });
  });
  return values;
}

std::vector<float> read_reals(const AttributeFields& attribute, const Source& source) {
  std::vector<float> values;
  each(attribute, attribute_field::kFloats, source, [&](const FieldReader& field) {
    field.each_real([&](float value) { values.push_back(value); });
  });
  return values;
}

std::vector<std::string> read_texts(const AttributeFields& attribute, const Source& source) {
  std::vector<std::string> values;
  each(attribute, attribute_field::kStrings, source,
       [&](const FieldReader& field) { values.emplace_back(field.bytes()); });
  return values;
}

std::vector<Tensor> read_tensors(const AttributeFields& attribute, const Source& source,
                                 ExternalFiles& external) {
  std::vector<Tensor> values;
  each(attribute, attribute_field::kTensors, source, [&](const FieldReader& field) {
    values.push_back(read_tensor(field.bytes(), source, external).tensor);
  });
  return values;
}

std::vector<ValueType> read_types(const AttributeFields& attribute, const Source& source) {
  std::vector<ValueType> values;
  each(attribute, attribute_field::kTypes, source,
       [&](const FieldReader& field) { values.push_back(read_type(field.bytes(), source)); });
  return values;
}

void expect_present(const AttributeFields& attribute) {
  if (attribute.has(attribute.kind)) return;
  fail_bad_input("attribute '{}' has no value", attribute.name);
}

}  // namespace

AttributeValue read_attribute_value(const AttributeFields& attribute, const Source& source,
                                    ExternalFiles& external) {
  switch (attribute.kind) {
    case AttributeKind::Float:
      return attribute.real;
    case AttributeKind::Int:
      return attribute.integer;
    case AttributeKind::String:
      return std::string(attribute.bytes);
    case AttributeKind::Floats:
      return read_reals(attribute, source);
    case AttributeKind::Ints:
      return read_integers(attribute, source);
    case AttributeKind::Strings:
      return read_texts(attribute, source);
    case AttributeKind::Tensor:
      expect_present(attribute);
      return read_tensor(attribute.tensor, source, external).tensor;
    case AttributeKind::Tensors:
      return read_tensors(attribute, source, external);
    case AttributeKind::Type:
      expect_present(attribute);
      return read_type(attribute.type, source);
    case AttributeKind::Types:
      return read_types(attribute, source);
    case AttributeKind::SparseTensor:
    case AttributeKind::SparseTensors:
      fail_bad_input("attribute '{}' is a sparse tensor, which is not supported", attribute.name);
    case AttributeKind::Graph:
    case AttributeKind::Graphs:
    case AttributeKind::Undefined:
      break;
  }
  fail_bad_input("attribute '{}' cannot be used here", attribute.name);
}

}  // namespace assay::onnx
