// Pools of 16-bit numbers by kernels of our own.
#pragma once

#include "execute/cpu/lowering.h"

namespace assay::cpu {

// The node is a pool whose input is of 16 bits, not empty, and has 1 to 3 spatial axes.
bool lower_half_pooling(Lowering& lowering, NodeId id);

}  // namespace assay::cpu
