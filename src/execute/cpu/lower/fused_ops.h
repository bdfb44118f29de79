// What a convolution or matrix product does to its result before it is written: add another
// tensor, apply an activation. Found by following the result to nodes that nothing else reads.
#pragma once

#include "execute/cpu/lowering.h"
#include "execute/cpu/onednn/primitive_step.h"

namespace assay::cpu {

struct FusedOps {
  std::vector<PostOp> post_ops;
  std::optional<ValueId> addend = {};  // added to the result
  // The result is added into the addend's bytes, which nothing needs afterwards; else the addend is
  // a binary operand.
  bool in_place = false;
  std::vector<NodeId> nodes;  // that are fused
  ValueId result;             // of the last of them, or of the main node
  std::int64_t flops = 0;
};

enum class Additions { Taken, NotTaken };

// Follows `value`, the result of node `id`. The nodes found are not covered yet: oneDNN may still
// refuse the combination.
FusedOps find_fused_ops(Lowering& lowering, NodeId id, ValueId value, Additions additions);

FusedOps no_fused_ops(ValueId value);

// The activation a node is, as oneDNN names it.
std::optional<PostOp> activation_of(const Lowering& lowering, const Node& node);

// The post-ops with the addend in this layout.
std::vector<PostOp> post_ops_for(const FusedOps& fused, const Desc& layout);

// The addend at `placement` as the step's argument, where it is a binary operand.
void add_addend_argument(const FusedOps& fused, const Desc& layout, const Placement& placement,
                         std::vector<Argument>& arguments);

}  // namespace assay::cpu
