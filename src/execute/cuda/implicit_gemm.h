// Convolutions of float32 by kernels of our own, as products of patches and weights: patches are
// gathered into shared memory while earlier ones are multiplied, a thread keeps a tile of sums in
// registers. Where there are fewer tiles than multiprocessors, each tile's sum is split into parts,
// which a second kernel adds up, in the same order each time.
#pragma once

#include <optional>
#include <vector>

#include "execute/cuda/candidate.h"
#include "execute/cuda/convolution_view.h"
#include "execute/cuda/epilogue.h"

namespace assay::cuda {

// Some tiles that should be fast; none for convolutions that are transposed, have groups or other
// types. The draft reads the image, the weight and, if there is one, the bias first.
std::vector<Candidate> implicit_gemm_candidates(Lowering& lowering, const ConvolutionView& view,
                                                const std::optional<Placement>& bias,
                                                const Epilogue& epilogue, const StepDraft& draft);

// Products of matrices that lie behind each other: each of `count` results [rows, columns] is
// [rows, depth] by [columns, depth] turned. The depth is a multiple of 4. Arguments are the first
// factors, the second ones and the results; threads cooperate.
struct FloatProducts {
  std::int64_t count = 1;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t depth = 0;
};
KernelText float_products(const FloatProducts& products, const gpu::DeviceFacts& device);

// Whether the image and the weight of a convolution lie as these kernels read them, float32
// channels last.
bool lies_for_gemm(const ConvolutionView& view);

}  // namespace assay::cuda
