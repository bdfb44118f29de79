// Tensors as vectors of C++ numbers and back. float16 and bfloat16 are computed as float; bool is
// computed as std::uint8_t that holds 0 or 1.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "assay/tensor.h"
#include "base/fail.h"
#include "graph/half.h"

namespace assay::kernels {

// Calls `visit` with a zero of the type that elements of `type` are computed in.
template <typename Visit>
auto with_number_type(DataType type, Visit visit) {
  switch (type) {
    case DataType::Float32:
    case DataType::Float16:
    case DataType::BFloat16:
      return visit(float{});
    case DataType::Float64:
      return visit(double{});
    case DataType::Int8:
      return visit(std::int8_t{});
    case DataType::Bool:
    case DataType::UInt8:
      return visit(std::uint8_t{});
    case DataType::Int16:
      return visit(std::int16_t{});
    case DataType::UInt16:
      return visit(std::uint16_t{});
    case DataType::Int32:
      return visit(std::int32_t{});
    case DataType::UInt32:
      return visit(std::uint32_t{});
    case DataType::Int64:
      return visit(std::int64_t{});
    case DataType::UInt64:
      return visit(std::uint64_t{});
    default:
      fail_bad_input("elements of type {} cannot be computed with", name(type));
  }
}

template <typename T>
std::vector<T> load(const Tensor& tensor) {
  if constexpr (std::is_same_v<T, float>) {
    if (tensor.type() != DataType::Float32) {
      const bool is_half = tensor.type() == DataType::Float16;
      const auto stored = tensor.to_vector<std::uint16_t>();
      std::vector<float> values(stored.size());
      std::ranges::transform(stored, values.begin(),
                             is_half ? graph::half_to_float : graph::bfloat16_to_float);
      return values;
    }
  }
  return tensor.to_vector<T>();
}

template <typename T>
Tensor store(DataType type, std::vector<std::int64_t> dims, const std::vector<T>& values) {
  if constexpr (std::is_same_v<T, float>) {
    if (type != DataType::Float32) {
      std::vector<std::uint16_t> stored(values.size());
      std::ranges::transform(
          values, stored.begin(),
          type == DataType::Float16 ? graph::float_to_half : graph::float_to_bfloat16);
      return Tensor::of<std::uint16_t>(type, std::move(dims), stored);
    }
  }
  return Tensor::of<T>(type, std::move(dims), values);
}

}  // namespace assay::kernels
