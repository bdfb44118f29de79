// From the type of elements to C++ types, for functions that take several.
#pragma once

#include <cstdint>

#include "assay/data_type.h"

namespace assay::cpu {

// Calls `work` with a zero of an unsigned type as large as an element, which is only moved.
template <typename Work>
void with_element_size(DataType type, Work work) {
  switch (bits(type)) {
    case 8:
      return work(std::uint8_t{});
    case 16:
      return work(std::uint16_t{});
    case 32:
      return work(std::uint32_t{});
    default:
      return work(std::uint64_t{});
  }
}

// Calls `work` with a zero of the number's own type; says whether it is one to compute with.
template <typename Work>
bool with_computed_type(DataType type, Work work) {
  switch (type) {
    case DataType::Float32:
      work(float{});
      return true;
    case DataType::Float64:
      work(double{});
      return true;
    case DataType::Int8:
      work(std::int8_t{});
      return true;
    case DataType::UInt8:
      work(std::uint8_t{});
      return true;
    case DataType::Int32:
      work(std::int32_t{});
      return true;
    case DataType::Int64:
      work(std::int64_t{});
      return true;
    default:
      return false;
  }
}

// The same for every number that is not of 16-bit floating type; truths are 0 or 1.
template <typename Work>
bool with_stored_type(DataType type, Work work) {
  switch (type) {
    case DataType::Bool:
      work(std::uint8_t{});
      return true;
    case DataType::Int16:
      work(std::int16_t{});
      return true;
    case DataType::UInt16:
      work(std::uint16_t{});
      return true;
    case DataType::UInt32:
      work(std::uint32_t{});
      return true;
    case DataType::UInt64:
      work(std::uint64_t{});
      return true;
    default:
      return with_computed_type(type, work);
  }
}

}  // namespace assay::cpu
