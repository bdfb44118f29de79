// Ops that our own loops compute on row-major operands, each in one function: what picks, orders
// and places elements by index.
//
// A function that meets what it does not take (an index out of range, a bad length) returns false
// before it has written anything that matters. The plain kernel runs instead: it reports the error.
#pragma once

#include <span>

#include "execute/cpu/kernels/direct.h"
#include "execute/cpu/lowering.h"

namespace assay::cpu {

struct DirectOp {
  DirectKernel run = nullptr;
  // Whether the function takes this form; shapes are known and nothing is empty.
  bool (*takes)(const Lowering& lowering, const Node& node) = nullptr;
};

// The op as a step; false where its form is not taken.
bool lower_directly(Lowering& lowering, NodeId id, const DirectOp& op);

}  // namespace assay::cpu
