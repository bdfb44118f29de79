// Element-wise nodes that one kernel computes: alone, or on the results of a product, convolution
// or norm before they are stored.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "execute/cuda/lowering.h"
#include "gpu/code.h"

namespace assay::cuda {

struct KernelText {
  std::string text;
  gpu::Launch shape = {};
};

// Between two placements of equal dimensions, in the type of `to`.
KernelText copy_kernel(const Placement& from, const Placement& to);
// The same to channels last, padded or not: a thread writes all channels of some pixels. For a few
// channels.
KernelText pixel_copy_kernel(const Placement& from, const Placement& to);
constexpr std::int64_t kMostPixelChannels = 8;

bool is_elementwise(const Lowering& lowering, const Node& node);

struct Chain {
  std::vector<NodeId> nodes;  // in execution order
  ValueId start;              // computed by whoever runs the chain; invalid: all is read
  ValueId result;
};

// `first`, an element-wise node, and what can be computed together with it.
Chain chain_from(const Lowering& lowering, NodeId first);
// What can be computed of `start` before it is stored; perhaps nothing.
Chain chain_after(const Lowering& lowering, ValueId start);

// A chain as statements of a kernel.
struct ChainText {
  std::vector<Placement> operands;  // seen as of the result's dimensions; "a0", "a1", …, computed
  std::string statements = "";      // of the operands and, after a start, of "x"
  std::string result = "x";         // an expression
  std::int64_t flops = 0;           // of all elements
};
ChainText text_of(Lowering& lowering, const Chain& chain);

// A kernel of the chain alone, whose arguments are the operands, then the result.
KernelText elementwise_kernel(const ChainText& text, const Placement& result);
// The same by pixels, as `pixel_copy_kernel`.
KernelText pixel_kernel(const ChainText& text, const Placement& result);
// The chain from an element-wise node as a step; false: it is none.
bool lower_elementwise(Lowering& lowering, NodeId id);

// Threads of a block in kernels of one thread for each element.
constexpr unsigned kBlockThreads = 256;
gpu::Launch launch_for(std::int64_t threads);

}  // namespace assay::cuda
