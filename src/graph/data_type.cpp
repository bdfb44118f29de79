#include "assay/data_type.h"

#include <array>

#include "base/checked.h"

namespace assay {

namespace {

enum class Family { Other, Floating, Integer };

struct Facts {
  std::string_view name;
  int bits = 0;
  Family family = Family::Other;
};

constexpr std::array<Facts, 23> kFacts = {{
    {"undefined", 0, Family::Other},
    {"float32", 32, Family::Floating},
    {"uint8", 8, Family::Integer},
    {"int8", 8, Family::Integer},
    {"uint16", 16, Family::Integer},
    {"int16", 16, Family::Integer},
    {"int32", 32, Family::Integer},
    {"int64", 64, Family::Integer},
    {"string", 0, Family::Other},
    {"bool", 8, Family::Other},
    {"float16", 16, Family::Floating},
    {"float64", 64, Family::Floating},
    {"uint32", 32, Family::Integer},
    {"uint64", 64, Family::Integer},
    {"complex64", 64, Family::Other},
    {"complex128", 128, Family::Other},
    {"bfloat16", 16, Family::Floating},
    {"float8e4m3fn", 8, Family::Floating},
    {"float8e4m3fnuz", 8, Family::Floating},
    {"float8e5m2", 8, Family::Floating},
    {"float8e5m2fnuz", 8, Family::Floating},
    {"uint4", 4, Family::Integer},
    {"int4", 4, Family::Integer},
}};

const Facts& facts(DataType type) {
  return kFacts[static_cast<std::size_t>(type)];
}

}  // namespace

std::string_view name(DataType type) {
  return facts(type).name;
}

std::optional<DataType> data_type_from_onnx(std::int64_t number) {
  if (number < 0 || number >= static_cast<std::int64_t>(kFacts.size())) return std::nullopt;
  return static_cast<DataType>(number);
}

bool is_floating(DataType type) {
  return facts(type).family == Family::Floating;
}

bool is_integer(DataType type) {
  return facts(type).family == Family::Integer;
}

int bits(DataType type) {
  return facts(type).bits;
}

std::optional<std::int64_t> byte_size(DataType type, std::int64_t elements) {
  if (bits(type) >= 8) return checked_multiply(elements, bits(type) / 8);
  return bits(type) == 0 ? 0 : elements / 2 + elements % 2;
}

}  // namespace assay
