// A matrix product as a step of a node that computes more than it.
#pragma once

#include "execute/cuda/lowering.h"

namespace assay::cuda {

// result = a · b; all three are [batch, rows, columns], the result without gaps.
void add_product_step(Lowering& lowering, NodeId id, const Placement& a, const Placement& b,
                      const Placement& result);

}  // namespace assay::cuda
