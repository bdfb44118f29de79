// Layer normalisation of short rows: a warp holds a row in its registers, so that it is read once.
#pragma once

#include "execute/cuda/row_kernel.h"

namespace assay::cuda {

// The step of a LayerNormalization over these rows, and what follows in the epilogue; false: the
// rows are too long, or do not lie so that 16 bytes are read at a time.
bool add_warp_norm(Lowering& lowering, NodeId id, const Rows& rows, const Epilogue& epilogue);

}  // namespace assay::cuda
