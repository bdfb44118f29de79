// The elements of several placements of equal dimensions, visited in one order: how the text of a
// kernel finds where each operand's element lies.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "execute/cuda/placement.h"

namespace assay::cuda {

// Axes over which all operands advance alike are one axis.
struct Walk {
  Dims lengths;               // the slowest axis first
  std::vector<Dims> strides;  // by operand, by axis
  std::int64_t elements = 0;

  bool is_short() const;  // 32 bits index everything
  // Elements that each operand has side by side, or repeats, in groups of this many at most.
  std::int64_t vector_width(std::span<const Placement> operands) const;
};

// Elements that lie side by side along this axis, in groups of this many at most: as many as one
// load takes.
std::int64_t vector_width(const Placement& placement, std::size_t axis);

// In the order in which the first of the operands lies in memory.
Walk walk_over(std::span<const Placement> operands);

// Statements that declare the coordinates "c0", "c1", … of element `index`, an expression.
std::string coordinates_text(const Walk& walk, const std::string& index);
// "c0 * 64 + c1", the offset of an operand's element.
std::string offset_text(const Walk& walk, std::size_t operand);

// The same for coordinates that a kernel has by itself, one for each axis.
std::string offset_text(const Placement& placement, std::span<const std::string> coordinates);

// "a / b" and "a % b" without what is known.
std::string quotient_text(const std::string& a, std::int64_t b);
std::string remainder_text(const std::string& a, std::int64_t b);

}  // namespace assay::cuda
