// Numbers as CUDA's libraries store them.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "fake_work.h"

namespace fake {

namespace {

template <typename Number>
Number read(const void* from, std::size_t element) {
  Number number;
  std::memcpy(&number, static_cast<const char*>(from) + element * sizeof(Number), sizeof(Number));
  return number;
}

template <typename Number>
void write(void* to, std::size_t element, Number number) {
  std::memcpy(static_cast<char*>(to) + element * sizeof(Number), &number, sizeof(Number));
}

double double_of_half(std::uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int digits = half & 1023;
  const double sign = (half & 0x8000) != 0 ? -1 : 1;
  if (exponent == 31) return digits != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(digits, -24);
  return sign * std::ldexp(digits + 1024, exponent - 25);
}

// To the nearest, ties to even, as nearbyint does.
std::uint16_t half_of_double(double number) {
  const std::uint16_t sign = std::signbit(number) ? 0x8000 : 0;
  const double size = std::fabs(number);
  if (std::isnan(number)) return 0x7e00;
  if (size >= 65520) return sign | 0x7c00;
  int exponent = size == 0 ? -24 : std::ilogb(size);
  exponent = exponent < -14 ? -14 : exponent;
  const auto digits = static_cast<int>(std::nearbyint(std::ldexp(size, 10 - exponent)));
  return static_cast<std::uint16_t>(sign | (((exponent + 14) << 10) + digits));
}

// 4 bits of exponent, 3 of digits.
double double_of_float8(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15;
  const int digits = bits & 7;
  const double sign = (bits & 0x80) != 0 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(digits, -9);
  return sign * std::ldexp(digits + 8, exponent - 10);
}

std::uint16_t bfloat16_of_double(double number) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(number));
  if (std::isnan(number)) return 0x7fc0;
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace

std::size_t bytes_of(Stored type) {
  switch (type) {
    case Stored::Float64:
      return 8;
    case Stored::Float16:
    case Stored::BFloat16:
      return 2;
    case Stored::Float8:
    case Stored::Int8:
      return 1;
    case Stored::Float32:
    case Stored::Int32:
      break;
  }
  return 4;
}

double load(Stored type, const void* from, std::size_t element) {
  switch (type) {
    case Stored::Float64:
      return read<double>(from, element);
    case Stored::Float16:
      return double_of_half(read<std::uint16_t>(from, element));
    case Stored::BFloat16:
      return std::bit_cast<float>(std::uint32_t{read<std::uint16_t>(from, element)} << 16);
    case Stored::Float8:
      return double_of_float8(read<std::uint8_t>(from, element));
    case Stored::Int8:
      return read<std::int8_t>(from, element);
    case Stored::Int32:
      return read<std::int32_t>(from, element);
    case Stored::Float32:
      break;
  }
  return read<float>(from, element);
}

void store(Stored type, void* to, std::size_t element, double number) {
  switch (type) {
    case Stored::Float64:
      return write(to, element, number);
    case Stored::Float16:
      return write(to, element, half_of_double(number));
    case Stored::BFloat16:
      return write(to, element, bfloat16_of_double(number));
    case Stored::Float8:
      return;  // no library writes it
    case Stored::Int8:
      return write(to, element, static_cast<std::int8_t>(number));
    case Stored::Int32:
      return write(to, element, static_cast<std::int32_t>(number));
    case Stored::Float32:
      break;
  }
  write(to, element, static_cast<float>(number));
}

}  // namespace fake
