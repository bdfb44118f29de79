// Element-wise ops on numbers of any type, row by row: comparisons, logic, arithmetic of integers,
// conversions. What floats need most is faster in a chain (chain.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "assay/data_type.h"

namespace assay::cpu {

constexpr std::size_t kTypedOperands = 3;

struct TypedRow {
  std::array<const std::byte*, kTypedOperands> operands = {};
  std::array<std::int64_t, kTypedOperands> strides = {};  // elements; 0 repeats one
  std::byte* result = nullptr;
  std::int64_t count = 0;
  std::array<float, 2> numbers = {};  // attributes: alpha and beta
};

// False: a division by zero.
using TypedFunction = bool (*)(const TypedRow& row);

struct TypedOp {
  TypedFunction run = nullptr;  // null: not known for this type
  bool gives_truths = false;
};

// The op of that name on operands of that type.
TypedOp typed_unary(const std::string& op, DataType type);
TypedOp typed_binary(const std::string& op, DataType type);
// mask, yes, no
TypedOp typed_where(DataType type);
// value, low, high, each of one type
TypedOp typed_clip(DataType type);

// Rows of the same number of elements; nothing where a type is unknown.
using TypedConversion = void (*)(const std::byte* from, std::byte* to, std::int64_t first,
                                 std::int64_t last);
TypedConversion typed_conversion(DataType from, DataType to);

// All operands over the dimensions of the result, whose elements lie row by row.
struct TypedGrid {
  std::vector<std::int64_t> dims;
  std::vector<std::vector<std::int64_t>> strides;  // by operand, elements
  std::vector<std::int64_t> operand_bytes;         // of an element, by operand
  std::int64_t result_bytes = 1;

  std::int64_t blocks() const;
};
TypedGrid merged(TypedGrid grid);

struct TypedWork {
  TypedFunction run = nullptr;
  TypedConversion then = nullptr;  // of truths, on their way out
  std::array<float, 2> numbers = {};
};

// Blocks first..last; false after a division by zero.
bool run_typed(const TypedWork& work, const TypedGrid& grid,
               const std::array<const std::byte*, kTypedOperands>& operands, std::byte* result,
               std::int64_t first, std::int64_t last);

}  // namespace assay::cpu
