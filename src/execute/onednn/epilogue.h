// What a convolution or matrix product does to its result before it is written: add another
// tensor, apply an activation. Found by following the result to nodes that nobody else waits for.
#pragma once

#include "execute/onednn/lowering.h"

namespace assay::onednn {

struct Epilogue {
  std::vector<PostOp> post_ops;
  std::vector<Place> operands;  // one for each binary post-op, in order
  // The result is added into this value's bytes, which nobody needs afterwards.
  std::optional<ValueId> summed_into = {};
  std::vector<NodeId> nodes;  // that are fused
  ValueId result;             // of the last of them, or of the main node
  std::int64_t flops = 0;
};

// A matrix product takes what lies row by row, a convolution what lies in blocks as its result
// will.
enum class Additions { None, RowMajor, Blocked };

// Follows `value`, the result of node `id`. Binary operands are left in the layout they have. The
// nodes found are not covered yet: oneDNN may still refuse the combination.
Epilogue find_epilogue(Lowering& lowering, NodeId id, ValueId value, Additions additions);

Epilogue empty_epilogue(ValueId value);

// The activation a node is, as oneDNN names it.
std::optional<PostOp> activation_of(const Lowering& lowering, const Node& node);

// Arguments of the binary post-ops, for the step.
void add_operand_arguments(const Epilogue& epilogue, std::vector<Argument>& arguments);

}  // namespace assay::onednn
