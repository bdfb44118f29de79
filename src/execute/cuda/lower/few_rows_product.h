// Products of a few rows by stored weights, which are bound by reading the weights: a warp reads
// whole columns of them, 16 bytes a thread at a time, and has its part of the rows in registers.
// A layer normalisation of the rows is computed by every warp for itself.
#pragma once

#include "execute/cuda/lowering.h"

namespace assay::cuda {

// One step for the product and what follows in its epilogue; false: it has many rows, its weights
// are computed, or they do not lie so that a thread reads 16 bytes at a time.
bool lower_few_rows_product(Lowering& lowering, NodeId product);

// The same for a LayerNormalization that only such a product reads.
bool lower_norm_and_product(Lowering& lowering, NodeId norm);

}  // namespace assay::cuda
