// float16 arithmetic as plain loops, for tests on processors without it.
#include <cmath>
#include <cstring>

#include "execute/cpu/simd/fp16/fp16_product.h"
#include "execute/emulated.h"
#include "graph/half.h"

namespace assay::cpu {

namespace {

struct Fp16 {
  float numbers[kFp16Columns] = {};  // each one that float16 holds
};

constexpr std::size_t kFp16Rows = 24;

float as_float(std::uint16_t bits) {
  return graph::half_to_float(bits);
}

float rounded(double value) {
  return as_float(graph::float_to_half(static_cast<float>(value)));
}

Fp16 zero() {
  return {};
}

Fp16 load(const std::uint16_t* p) {
  Fp16 v;
  for (std::size_t i = 0; i < kFp16Columns; ++i) v.numbers[i] = as_float(p[i]);
  return v;
}

Fp16 add_product(Fp16 sum, const std::uint16_t* factor, const Fp16& v) {
  const double one = static_cast<double>(as_float(*factor));
  for (std::size_t i = 0; i < kFp16Columns; ++i)
    sum.numbers[i] =
        rounded(one * static_cast<double>(v.numbers[i]) + static_cast<double>(sum.numbers[i]));
  return sum;
}

void add_scaled(float* sums, const Fp16& v, float scale, bool continues) {
  for (std::size_t i = 0; i < kFp16Columns; ++i)
    sums[i] = std::fma(v.numbers[i], scale, continues ? sums[i] : 0.0f);
}

std::uint16_t largest_magnitude(const std::uint16_t* in, std::size_t n) {
  std::uint16_t most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto magnitude = static_cast<std::uint16_t>(in[i] & 0x7fff);
    most = magnitude > most ? magnitude : most;
  }
  return most;
}

void multiply_row(const std::uint16_t* in, std::uint16_t factor, std::uint16_t* out,
                  std::size_t n) {
  for (std::size_t i = 0; i < n; ++i)
    out[i] = graph::float_to_half(as_float(in[i]) * as_float(factor));
}

#include "execute/cpu/simd/fp16/fp16_by_number.inc"
#include "execute/cpu/simd/fp16/fp16_product.inc"

}  // namespace

const Fp16Kernels& fp16_emulated() {
  static constexpr Fp16Kernels kKernels = {"emulated", scale_row, fp16_product};
  return kKernels;
}

}  // namespace assay::cpu
