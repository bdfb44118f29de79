#include "kernels/float8.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::kernels {

namespace {

// Bits are a sign, an exponent and `mantissa` bits. Formats with "UZ" have no negative zero: its
// code is their only NaN. E4M3FN keeps the highest code for NaN, E5M2 the codes that IEEE does.
struct Float8Format {
  int mantissa = 3;
  int bias = 7;
  bool has_infinity = false;
  bool is_unsigned_zero = false;
  int largest = 0x7e;  // the code of the largest finite number

  int smallest_exponent() const { return 1 - bias; }
};

Float8Format format_of(DataType type) {
  switch (type) {
    case DataType::Float8E4M3FNUZ:
      return {3, 8, false, true, 0x7f};
    case DataType::Float8E5M2:
      return {2, 15, true, false, 0x7b};
    case DataType::Float8E5M2FNUZ:
      return {2, 16, false, true, 0x7f};
    default:
      return {3, 7, false, false, 0x7e};
  }
}

double magnitude(const Float8Format& format, int code) {
  const int exponent = code >> format.mantissa;
  const int fraction = code & ((1 << format.mantissa) - 1);
  const bool is_subnormal = exponent == 0;
  const int whole = is_subnormal ? fraction : fraction + (1 << format.mantissa);
  const int power = is_subnormal ? format.smallest_exponent() : exponent - format.bias;
  return std::ldexp(whole, power - format.mantissa);
}

// The code of the nearest magnitude; may lie beyond the largest finite one.
int nearest_code(const Float8Format& format, double number) {
  if (number == 0) return 0;
  const int power = std::max(std::ilogb(number), format.smallest_exponent());
  const int whole = static_cast<int>(std::nearbyint(std::ldexp(number, format.mantissa - power)));
  // The exponent field follows from carrying: a full fraction moves into the next binade.
  return ((power - format.smallest_exponent()) << format.mantissa) + whole;
}

int not_a_number(const Float8Format& format) {
  return format.is_unsigned_zero ? 0x80 : 0x7f;
}

int overflowed(const Float8Format& format, bool is_infinite, bool saturates, int sign) {
  const bool takes_largest = saturates && !(is_infinite && format.is_unsigned_zero);
  if (takes_largest) return format.largest | sign;
  return format.has_infinity ? (format.largest + 1) | sign : not_a_number(format);
}

}  // namespace

bool is_float8(DataType type) {
  return type == DataType::Float8E4M3FN || type == DataType::Float8E4M3FNUZ ||
         type == DataType::Float8E5M2 || type == DataType::Float8E5M2FNUZ;
}

float float8_to_float(DataType type, std::uint8_t code) {
  const Float8Format format = format_of(type);
  const bool is_negative = (code & 0x80) != 0;
  const int unsigned_code = code & 0x7f;
  const float sign = is_negative ? -1.0f : 1.0f;
  const bool is_lone_nan = format.is_unsigned_zero && code == 0x80;
  if (is_lone_nan) return std::numeric_limits<float>::quiet_NaN();
  if (unsigned_code > format.largest) {
    const bool is_infinite = format.has_infinity && unsigned_code == format.largest + 1;
    return is_infinite ? sign * std::numeric_limits<float>::infinity()
                       : std::numeric_limits<float>::quiet_NaN();
  }
  return sign * static_cast<float>(magnitude(format, unsigned_code));
}

std::uint8_t float_to_float8(DataType type, float number, bool saturates) {
  const Float8Format format = format_of(type);
  if (std::isnan(number)) return static_cast<std::uint8_t>(not_a_number(format));
  const int sign = std::signbit(number) ? 0x80 : 0;
  if (std::isinf(number))
    return static_cast<std::uint8_t>(overflowed(format, true, saturates, sign));
  const int code = nearest_code(format, std::fabs(static_cast<double>(number)));
  if (code > format.largest)
    return static_cast<std::uint8_t>(overflowed(format, false, saturates, sign));
  if (code == 0 && format.is_unsigned_zero) return 0;
  return static_cast<std::uint8_t>(code | sign);
}

}  // namespace assay::kernels
