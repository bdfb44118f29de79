// Element types of tensors. The numbers are ONNX's own, so that reading and writing need no table.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace assay {

enum class DataType : std::int32_t {
  Undefined = 0,
  Float32 = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Float64 = 11,
  UInt32 = 12,
  UInt64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  UInt4 = 21,
  Int4 = 22,
};

std::string_view name(DataType type);  // "float32"
std::optional<DataType> data_type_from_onnx(
    std::int64_t);                // nothing for a number ONNX does not use
bool is_floating(DataType type);  // includes bfloat16 and the 8-bit floats
bool is_integer(DataType type);   // signed or unsigned, not bool
int bits(DataType type);          // 0 for strings and undefined

// Bytes of `elements` packed values (4-bit types share bytes); nothing when that overflows.
std::optional<std::int64_t> byte_size(DataType type, std::int64_t elements);

}  // namespace assay
