// Softmax of short rows: a warp holds a row in its registers, so that it is read once.
#pragma once

#include "execute/cuda/row_kernel.h"

namespace assay::cuda {

// The step of a Softmax or LogSoftmax over these rows, and what follows in the epilogue; false: the
// rows are too long, too few, or their elements lie apart.
bool add_warp_softmax(Lowering& lowering, NodeId id, const Rows& rows, const Epilogue& epilogue);

}  // namespace assay::cuda
