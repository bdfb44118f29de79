// Attention that is written as products and a softmax.
#pragma once

#include "execute/cuda/lowering.h"

namespace assay::cuda {

// One step for a product whose sums go through element-wise nodes and a softmax into another
// product; false: it is none, or better computed node by node.
bool lower_attention(Lowering& lowering, NodeId id);

}  // namespace assay::cuda
