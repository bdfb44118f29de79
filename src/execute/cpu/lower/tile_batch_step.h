// A batch of products of activations by tile instructions, as a step.
#pragma once

#include "execute/cpu/kernels/tile_batch.h"
#include "execute/cpu/lowering.h"

namespace assay::cpu {

// Where a matrix of the batch begins, in elements, and its strides.
struct BatchedMatrix {
  Placement placement;
  std::vector<std::int64_t> offsets;  // one for each product
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;
};

// Offsets of each matrix of the batch, repeated where it is broadcast.
std::vector<std::int64_t> batch_offsets(const Placement& placement, const Dims& batch);
BatchedMatrix batched_matrix(const Placement& placement, const Dims& batch);

// Whether there are tile instructions and the operands have a form for them.
bool fits_tiles(const TileBatchLayer& layer, const BatchedMatrix& left,
                const BatchedMatrix& result);

// Adds the step, whose draft lacks the algorithm and the workspace.
void add_tile_batch_step(Lowering& lowering, StepDraft draft, const TileBatchLayer& layer,
                         const BatchedMatrix& left, const BatchedMatrix& right,
                         const BatchedMatrix& result);

}  // namespace assay::cpu
