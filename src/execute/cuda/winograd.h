// Convolutions of float32 with windows of 3 · 3 by kernels of our own, in tiles of 4 · 4 results:
// Winograd's F(4x4, 3x3), which multiplies a quarter as often as the definition. Filters and tiles
// of the image are transformed into memory, multiplied as 36 products of matrices, and transformed
// back; rounding errors are about ten times those of a sum as defined.
#pragma once

#include <optional>
#include <vector>

#include "execute/cuda/candidate.h"
#include "execute/cuda/convolution_view.h"
#include "execute/cuda/epilogue.h"

namespace assay::cuda {

// None where windows are of another size, or more than an element apart. The draft is that of
// implicit_gemm.h.
std::vector<Candidate> winograd_candidates(Lowering& lowering, const ConvolutionView& view,
                                           const std::optional<Placement>& bias,
                                           const Epilogue& epilogue, const StepDraft& draft);

}  // namespace assay::cuda
