// Pieces that several lowering functions build their steps from.
#pragma once

#include "execute/cpu/kernels/chain.h"
#include "execute/cpu/lowering.h"
#include "execute/cpu/onednn/primitive_step.h"

namespace assay::cpu {

// Copies elements between two placements of equal dimensions; neither is blocked.
Binder copy_binder(const Lowering& lowering, const Placement& from, const Placement& to);

// Gives the step the workspace that its primitive asks for.
void add_scratchpad(Lowering& lowering, const Desc& wanted, StepDraft& draft,
                    std::vector<Argument>& arguments);

// The same of this many floats; invalid where it needs none.
BufferId add_workspace(Lowering& lowering, std::int64_t floats, StepDraft& draft);

// The format of a floating type of 16 bits; nothing for others.
std::optional<HalfFormat> half_format(DataType type);
ChainElements elements_at(const Addresses& at, const Placement& placement);

// A stretch of the axis: `first`, `first + step`, … `count` times.
Placement sliced(Placement placement, std::size_t axis, std::int64_t first, std::int64_t step,
                 std::int64_t count);

// Everything from `axis` on is one row.
struct Rows {
  std::int64_t count = 0;
  std::int64_t width = 0;
};
Rows rows_from(const Dims& dims, std::size_t axis);
// Nothing but axes of one element follow.
bool is_innermost(const Dims& dims, std::size_t axis);
// One, where there is too little to do for more.
int threads_for(const Lowering& lowering, const Rows& rows);

// An axis of -rank..rank-1 as a position, or nothing.
std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank);

// The numbers that a node has as an attribute or, since some opset, as the constant input `input`.
std::optional<std::vector<std::int64_t>> ints_of(const Lowering& lowering, const Node& node,
                                                 const char* attribute, std::size_t input);

}  // namespace assay::cpu
