#include "execute/cpu/lower/integer_sums.h"

namespace assay::cpu {

namespace {

ScaledSums scaled_as(const SumsEpilogue& epilogue, const SumsRow& row) {
  return {
      .source_zero_point = row.source_zero_point,
      .source_scale = row.source_scale,
      .column_sums = row.column_sums,
      .scales = row.scales,
      .bias = epilogue.bias.empty() ? nullptr : epilogue.bias.data(),
      .column_zero_points = epilogue.zero_points.empty() ? nullptr : epilogue.zero_points.data(),
      .source_sum = row.source_sum};
}

void shift_sums(const SumsEpilogue& epilogue, const SumsRow& row, const std::int32_t* sums,
                std::int32_t* to, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) to[i] = sums[i] - row.source_zero_point * row.column_sums[i];
  for (std::size_t i = 0; i < epilogue.zero_points.size(); ++i)
    to[i] -= row.source_sum * epilogue.zero_points[i];
}

void scale_and_clamp(const SumsEpilogue& epilogue, const SumsRow& row, const std::int32_t* sums,
                     float* to, std::size_t n) {
  simd().scale_sums(scaled_as(epilogue, row), sums, to, n);
  if (epilogue.clamp)
    simd().unary(UnaryOp::Clip, epilogue.clamp->low, epilogue.clamp->high, to, to, n);
}

}  // namespace

std::int32_t zero_point_at(const std::byte* at, bool is_signed) {
  if (at == nullptr) return 0;
  return is_signed ? static_cast<std::int8_t>(*at) : static_cast<std::int32_t>(*at);
}

void finish_sums(const SumsEpilogue& epilogue, const SumsRow& row, std::int32_t* sums,
                 std::byte* to, std::size_t n) {
  if (row.integer_bias != nullptr) {
    for (std::size_t i = 0; i < n; ++i) sums[i] += row.integer_bias[i];
  }
  switch (epilogue.kind) {
    case SumsKind::Sums:
      return shift_sums(epilogue, row, sums, reinterpret_cast<std::int32_t*>(to), n);
    case SumsKind::Floats:
      return scale_and_clamp(epilogue, row, sums, reinterpret_cast<float*>(to), n);
    case SumsKind::Bytes:
      break;
  }
  auto* floats = reinterpret_cast<float*>(sums);  // each vector is read before it is written
  scale_and_clamp(epilogue, row, sums, floats, n);
  const Scale8 unit{
      .scale = 1, .zero_point = epilogue.to.zero_point, .is_signed = epilogue.to.is_signed};
  simd().quantize(floats, unit, to, n);
}

}  // namespace assay::cpu
