// What a kernel does to a number before it stores it: element-wise ops that follow its own.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "execute/cuda/chain.h"

namespace assay::cuda {

struct Epilogue {
  Chain chain;
  ChainText text;
  Placement result;
  // Written beside the result, through "more0", "more1", …: what else the main node computes.
  std::vector<Placement> more = {};

  // Another value that the main node computes, row by row; gives its name in the kernel.
  std::string add_more(Lowering& lowering, ValueId value);

  std::vector<NodeId> nodes(NodeId main) const;  // the main one first
  // "const float* __restrict__ e0, half_t* __restrict__ out"
  std::string parameters() const;
  // Stores the element at these coordinates of the result, one expression an axis, of which `sum`
  // is the main node's number.
  std::string statements(const std::string& sum, std::span<const std::string> coordinates) const;
  // The same without the last, which stores `stored_result()`.
  std::string computing(const std::string& sum, std::span<const std::string> coordinates) const;
  std::string stored_result() const;
};

// Covers the nodes that follow `main` and can be computed with it, and places the result in the
// layout that `placed` makes of its type and dimensions.
Epilogue epilogue_of(Lowering& lowering, NodeId main,
                     Placement (*placed)(DataType, Dims) = row_major_placement);

// A step that computes `main` from `reads`, then what follows in the epilogue.
StepDraft draft_with(const Epilogue& epilogue, NodeId main, std::vector<Placement> reads,
                     std::int64_t flops);

// A result that lies like this operand, so that both are read and written alike.
Placement (*layout_of(const Placement& operand))(DataType, Dims);

}  // namespace assay::cuda
