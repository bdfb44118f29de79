// Convolutions of stride 2 on images of few channels, which leave tensor cores little to do: blocks
// of 2 × 2 pixels become one pixel with four times the channels, and the stride is gone.
#pragma once

#include <optional>

#include "execute/cuda/library_convolution.h"

namespace assay::cuda {

// Nothing if the convolution is none of these.
std::optional<FoldedConvolution> folded_convolution(Lowering& lowering, const Node& node,
                                                    const kernels::WindowGrid& grid);

// Folds an image into `folded`, which lies channels last; zeros fill channels that are left.
KernelText folding_kernel(const Placement& image, const Placement& folded);

}  // namespace assay::cuda
